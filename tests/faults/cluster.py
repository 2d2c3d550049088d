"""A cluster of three machines from the files of docs/how-to/high-availability.md: etcd, Patroni, HAProxy, PgBouncer.

Each machine is an address of the loopback network, so that the files need other addresses, folders and passwords only.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import psycopg

from tests.deployment_programs import FILES, program, run
from tests.patience import SLOWER

REQUIRED, INSTALLER = "REPOSITORY_REPLICATION_REQUIRED", "make replication"
PASSWORD = "one-of-ours"
# Machine of the service, and the two machines of the database.
ADDRESSES = {"app1": "192.0.2.10", "db1": "192.0.2.11", "db2": "192.0.2.12"}
NODES = ("db1", "db2")


def postgres_programs() -> Path:
    """Return the folder with the programs of Debian's PostgreSQL, the newest one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else Path(program("postgres", REQUIRED, INSTALLER)).parent


class Cluster:
    def __init__(self) -> None:
        self.programs = {
            name: program(name, REQUIRED, INSTALLER)
            for name in ("etcd", "patroni", "patronictl", "haproxy", "pgbouncer")
        }
        self.postgres = postgres_programs()
        # PostgreSQL does not run as root, and its account cannot enter the folder of the tests.
        self.account = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        self.folder = Path(tempfile.mkdtemp(prefix="repository-cluster-"))
        self.network = f"127.{random.randint(1, 254)}.{random.randint(1, 254)}."
        self.processes: dict[tuple[str, str], subprocess.Popen[bytes]] = {}

        self.urls = {
            "HAProxy": f"postgresql://repository:{PASSWORD}@{self.network}10:5000/repository",
            "PgBouncer": f"postgresql://repository:{PASSWORD}@{self.network}10:6432/repository",
            "two hosts": f"postgresql://repository:{PASSWORD}@{self.network}11:5432,{self.network}12:5432/repository"
            "?target_session_attrs=read-write&connect_timeout=2",
        }

    def start(self) -> None:
        for machine in ADDRESSES:
            (self.folder / machine).mkdir()
        (self.folder / "app1/userlist.txt").write_text(f'"repository" "{PASSWORD}"\n')
        shutil.copy(FILES / "postgresql.sql", self.folder)
        if os.geteuid() == 0:
            entry = pwd.getpwnam(self.account)
            for path in (self.folder, *self.folder.rglob("*")):
                os.chown(path, entry.pw_uid, entry.pw_gid)
        for machine in ADDRESSES:
            self.start_etcd(machine)
        for node in NODES:
            self.start_patroni(node)
            wait_until(lambda node=node: self.roles().get(node), 60, self.logs)  # type: ignore[misc]
        self.wait_until_synchronous()
        self.create_database()
        self.launch("app1", "haproxy", self.programs["haproxy"], "-db", "-f", self.written("haproxy.cfg", "app1"))
        self.launch("app1", "pgbouncer", self.programs["pgbouncer"], self.written("pgbouncer.ini", "app1"))
        for url in self.urls.values():
            wait_until(lambda url=url: can_connect(url), 20, self.logs)  # type: ignore[misc]

    def start_etcd(self, machine: str) -> None:
        lines = Path(self.written("etcd.example", machine)).read_text().splitlines()
        settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        self.launch(machine, "etcd", self.programs["etcd"], **settings)

    def start_patroni(self, node: str) -> None:
        self.launch(node, "patroni", self.programs["patroni"], self.written("patroni.yml", node))

    def written(self, name: str, machine: str) -> str:
        """Write a file of the how-to for a machine of this cluster, and return its path."""
        text = (FILES / name).read_text(encoding="utf-8")
        own = self.folder / machine
        comment, _, rest = text.partition("\n")
        if machine != "db1" and name in ("patroni.yml", "etcd.example"):
            rest = for_other_machine(rest, machine)
        for there, here in {
            "192.0.2.0/24": "127.0.0.0/8",
            "127.0.0.1": f"{self.network}10",
            "192.0.2.": self.network,
            "CHANGE-THIS": PASSWORD,
            "/var/lib/postgresql/15/repository": str(own / "data"),
            "/usr/lib/postgresql/15/bin": str(self.postgres),
            "/var/run/postgresql": str(own),
            "/var/lib/etcd/repository": str(own / "etcd"),
            "/etc/pgbouncer/userlist.txt": str(own / "userlist.txt"),
            "    user haproxy\n    group haproxy\n": "",
        }.items():
            rest = rest.replace(there, here)
        path = own / name
        path.write_text(f"{comment}\n{rest}", encoding="utf-8")
        # Patroni reads passwords only from a file that others cannot read.
        shutil.chown(path, self.account)
        path.chmod(0o600)
        return str(path)

    def launch(self, machine: str, name: str, *words: str, **environ: str) -> None:
        with (self.folder / f"{machine}-{name}.log").open("ab") as log:
            self.processes[machine, name] = subprocess.Popen(
                words, stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
                user=self.account if os.geteuid() == 0 else None, env={"PATH": os.defpath, "HOME": str(self.folder), **environ},
            )  # fmt: skip

    def logs(self) -> str:
        """Return the end of each log, and the roles."""
        ends = (f"{path.name}:\n{path.read_text()[-2_000:]}" for path in sorted(self.folder.glob("*.log")))
        return "\n".join([str(self.roles()), *ends])

    def create_database(self) -> None:
        run(
            str(self.postgres / "psql"), "-v", f"password={PASSWORD}", "-v", "backup_password=another",
            "-f", str(self.folder / "postgresql.sql"), self.address_of(self.leader(), "postgres"),
        )  # fmt: skip

    def address_of(self, node: str, database: str = "repository") -> str:
        return f"postgresql://postgres:{PASSWORD}@{self.host(node)}:5432/{database}"

    def host(self, machine: str) -> str:
        return ADDRESSES[machine].replace("192.0.2.", self.network)

    def roles(self) -> dict[str, str]:
        """Return the role of each running node, as any Patroni that answers tells it."""
        for node in NODES:
            try:
                with urlopen(f"http://{self.host(node)}:8008/cluster", timeout=5) as response:
                    members = json.load(response)["members"]
            except (URLError, OSError):
                continue
            running = ("running", "streaming")
            return {each["name"]: each["role"] for each in members if each["state"] in running}
        return {}

    def leader(self) -> str:
        return next((node for node, role in self.roles().items() if role == "leader"), "")

    def wait_until_synchronous(self, seconds: float = 60) -> None:
        wait_until(
            lambda: sorted(self.roles().values()) == ["leader", "sync_standby"],
            seconds,
            self.logs,
        )

    @contextmanager
    def superuser(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        with psycopg.connect(self.address_of(self.leader()), autocommit=True) as connection:
            yield connection

    def postmaster(self, node: str) -> psutil.Process:
        return psutil.Process(int((self.folder / node / "data/postmaster.pid").read_text().split()[0]))

    def kill_postgres(self, node: str) -> None:
        self.postmaster(node).kill()

    def kill_machine(self, node: str) -> None:
        """Kill everything that runs on a machine, as a power failure does."""
        for each in self.running_on(node):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        for name in ("patroni", "etcd"):
            self.processes.pop((node, name)).wait(10)

    def start_machine(self, node: str) -> None:
        self.start_etcd(node)
        self.start_patroni(node)

    def freeze_machine(self, node: str) -> None:
        """Let a machine stop to answer while its connections stay open."""
        for each in self.running_on(node):
            with suppress(psutil.NoSuchProcess):
                each.suspend()

    def thaw_machine(self, node: str) -> None:
        for each in self.running_on(node):
            with suppress(psutil.NoSuchProcess):
                each.resume()

    def running_on(self, node: str) -> list[psutil.Process]:
        patroni, etcd = (psutil.Process(self.processes[node, name].pid) for name in ("patroni", "etcd"))
        postmaster = self.postmaster(node)
        return [patroni, postmaster, *postmaster.children(), etcd]

    def switch_over(self) -> None:
        """Make the standby the primary, in good order."""
        config = str(self.folder / "db1/patroni.yml")
        run(self.programs["patronictl"], "-c", config, "switchover", "repository", "--force", "--leader", self.leader())

    def end(self) -> None:
        """End everything: Patroni first, which would start PostgreSQL again."""
        for kind in ("patroni", "haproxy", "pgbouncer", "etcd"):
            for process in [each for (_, name), each in self.processes.items() if name == kind]:
                process.kill()
                process.wait(10)
        everything = psutil.process_iter(["cmdline"])
        left = [each for each in everything if str(self.folder) in " ".join(each.info["cmdline"] or [])]
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGQUIT)
        for each in psutil.wait_procs(left, 10)[1]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        shutil.rmtree(self.folder)


def for_other_machine(text: str, machine: str) -> str:
    """Replace name and address of db1 as the first line of the file says, but not in the lists of all machines."""
    lines = []
    for line in text.splitlines():
        is_list = "hosts:" in line or "INITIAL_CLUSTER=" in line
        lines.append(line if is_list else line.replace("db1", machine).replace("192.0.2.11", ADDRESSES[machine]))
    return "\n".join(lines) + "\n"


def can_connect(address: str) -> bool:
    try:
        with psycopg.connect(address, connect_timeout=2, prepare_threshold=None) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.Error:
        return False


def wait_until(is_so: Callable[[], Any], seconds: float, problem: Callable[[], str]) -> None:
    end = time.monotonic() + SLOWER * seconds
    while not is_so():
        assert time.monotonic() < end, problem()
        time.sleep(0.1)
