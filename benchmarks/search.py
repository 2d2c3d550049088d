"""The search and its index (D380, D407): growth with the elements of a storage, and what the index costs (D409)."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from urllib.parse import quote

import orjson

from benchmarks import growth
from benchmarks.installation import COLLECTION, BenchmarkInstallation
from benchmarks.load import Contender, TimingClient, Workload, measure
from benchmarks.report import Run, growth_table, table
from benchmarks.steps import Step
from benchmarks.workloads import ELEMENTS, OURS, READ, StorageRequests, make_drafts, spread
from repository_site.core.terminal.progress import with_progress

ROUNDS = 3
# Changes in each turn; the first ones of a turn are not measured.
CHANGES, UNMEASURED, TURNS = 40, 10, 10
IMPORTS = 3
MADE = "searched"
EVENTS = ("insert", "update", "delete")
TRIGGERS = {"elements_elementversion": "search_kept", "elements_lane": "drawn_kept", "elements_shapeflow": "drawn_kept"}
INDEX = ("elements_searchdocument", "elements_searchposting", "elements_searchword")
SIZES = f"""SELECT (SELECT sum(pg_total_relation_size(t.name::regclass))
        FROM unnest('{{{",".join(INDEX)}}}'::text[]) AS t(name))
    / (SELECT sum(pg_column_size(v.attributes)) FROM elements_elementversion v)"""  # noqa: S608  constants
FIRST_PAGE, ONE, WORD, SUGGESTIONS = "W1 list of 100", "W2 one element", "search, a rare word", "suggestions"
RARE, RARE_END, FREQUENT = "Contains, a rare text", "EndsWith, a rare text", "Contains, a frequent text"


def number_of(number: int, elements: int) -> int:
    """Return a number with as many digits as others, which one name in the storage ends with."""
    return elements // 10 + spread(number, elements - elements // 10)


def search(storage: StorageRequests, number: int) -> bytes:
    # A blank after the word, because other numbers begin with it.
    return storage.request(f"rest/search?q={number_of(number, storage.elements)}%20")


def suggestions(storage: StorageRequests, number: int) -> bytes:
    return storage.request(f"rest/search/suggestions?q={str(number_of(number, storage.elements))[:-1]}")


def filtered(text: Callable[[int], str]) -> Callable[[StorageRequests, int], bytes]:
    def request(storage: StorageRequests, number: int) -> bytes:
        return storage.page(more=f"&$filter={quote(text(number_of(number, storage.elements)))}")

    return request


CALLS: dict[str, Callable[[StorageRequests, int], bytes]] = {
    FIRST_PAGE: StorageRequests.first_page,
    ONE: StorageRequests.one,
    WORD: search,
    SUGGESTIONS: suggestions,
    # The index has to be compared with all words of the storage.
    RARE: filtered(lambda number: f"Contains(name, '{number}')"),
    RARE_END: filtered(lambda number: f"EndsWith(name, ' {number}')"),
    # Too many words begin with these digits in a large storage.
    FREQUENT: filtered(lambda number: f"Contains(name, ' {str(number)[:3]}')"),
}


def make_data(run: Run) -> None:
    run.installation.make({READ: ELEMENTS})
    growth.make_data(run)


def steps(run: Run) -> list[Step]:
    """Return the measurements, with the minutes that they take on two idle cores."""
    return [
        Step("Making storages", 0.5 + growth.elements_to_make(run) / 60_000, lambda: make_data(run)),
        Step("Growth", 0.5 + run.scale.growth_requests / 15, lambda: measure_growth(run)),
        Step("Imports and changes", 2.5, lambda: measure_cost(run)),
    ]


def measure_growth(run: Run) -> None:
    count = run.scale.sizes[-1]
    small, large = f"{ELEMENTS:,}", f"{count:,}"
    with closing(growth.of_size(run, count)) as installation:
        columns = {
            small: StorageRequests(run.installation.serve(), READ),
            large: StorageRequests(installation.serve(), f"s{count}", count),
        }
        installation.read_files()
        check_requests(columns[small])
        check_requests(columns[large])
        found = {}
        for title, call in CALLS.items():
            contenders = {size: Contender(partial(call, each), each.server) for size, each in columns.items()}
            found[title] = Workload(title, contenders)
        measure("Growth of the search", list(found.values()), run.scale.growth_requests, ROUNDS)
        measure_size(run, installation)
    note = "The first column is in milliseconds, the others are ratios to it."
    text = f"Elements in one storage, each size in an installation of its own. {note}"
    run.add("Growth", f"{text}\n\n{growth_table(list(found.values()))}")

    def at_large(title: str) -> float:
        return found[title].found[large].median

    run.limit(f"{WORD} at {large}, times that at {small}", found[WORD].ratio(large, small), most=3)
    run.limit(f"{SUGGESTIONS} at {large}, times one element", at_large(SUGGESTIONS) / at_large(ONE), most=2)
    run.limit(f"{RARE} at {large}, times a plain page", at_large(RARE) / at_large(FIRST_PAGE), most=20)


def check_requests(storage: StorageRequests) -> None:
    """Check what the requests find: one that finds nothing is fast for the wrong reason."""
    client = TimingClient(storage.server.port)
    for title in (WORD, RARE, RARE_END):
        total = client.send(CALLS[title](storage, -1)).headers["X-Total-Count"]
        if total != "1":
            raise SystemExit(f"error: {title} finds {total} elements in {storage.key}")


def measure_size(run: Run, installation: BenchmarkInstallation) -> None:
    ratio = float(installation.database.ask(SIZES) or 0)
    run.limit(f"Size of the index in {installation.folder.name}, times that of the attributes", ratio, most=6)


def measure_cost(run: Run) -> None:
    """Measure imports and changes with and without the index, in a storage of their own."""
    with run.installation.database.superuser() as connection:
        # Storages that earlier runs have removed left room in the files.
        connection.execute(f"VACUUM FULL {', '.join(INDEX)}")
    measure_size(run, run.installation)
    target = (COLLECTION, MADE)
    try:
        measure_imports(run, target)
        measure_changes(run, StorageRequests(run.installation.serve(), MADE))
    finally:
        run.installation.run("manage.py", "remove_storage", *target, "--yes")


def measure_imports(run: Run, target: tuple[str, str]) -> None:
    """Leave the last storage, with a token."""
    installation, file = run.installation, run.folder / "export.ndjson"
    file.unlink(missing_ok=True)
    installation.run("manage.py", "export_storage", COLLECTION, READ, str(file))
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for turn in with_progress(range(2 * IMPORTS), "Imports", 2 * IMPORTS):
        if installation.storage_id(MADE):
            installation.run("manage.py", "remove_storage", *target, "--yes")
        installation.run("manage.py", "provision_storage", *target)
        # The last storage has an index.
        is_indexed = turn % 2 == 1
        program = ["manage.py"] if is_indexed else ["-m", "benchmarks.unindexed"]
        with indexed(installation, is_indexed):
            seconds[is_indexed].append(installation.run(*program, "import_storage", *target, str(file)))
    with_index, without = (min(seconds[each]) for each in (True, False))
    title = f"Import of {ELEMENTS:,} elements, times that without the index"
    run.limit(title, with_index / without, most=1.25)
    rows = [("with the index", f"{with_index:.1f}"), ("without", f"{without:.1f}")]
    run.add("Import", f"Fastest of {IMPORTS}, including the start of the command.\n\n{table(['', 'seconds'], rows)}")
    # Tokens of storages that an earlier run has removed are of no use.
    tokens = installation.folder / "tokens.json"
    known = orjson.loads(tokens.read_bytes())
    tokens.write_bytes(orjson.dumps({key: value for key, value in known.items() if key != MADE}))
    installation.run("-m", "benchmarks.storages", str(installation.folder), f'{{"{MADE}": {ELEMENTS}}}')


@contextmanager
def indexed(installation: BenchmarkInstallation, is_indexed: bool) -> Iterator[None]:
    """Switch the triggers that maintain the index."""

    def switch(word: str) -> None:
        with installation.database.superuser() as connection:
            for table, name in TRIGGERS.items():
                changes = ", ".join(f"{word} TRIGGER {name}_on_{event}" for event in EVENTS)
                connection.execute(f"ALTER TABLE {table} {changes}")

    switch("ENABLE" if is_indexed else "DISABLE")
    try:
        yield
    finally:
        switch("ENABLE")


def measure_changes(run: Run, storage: StorageRequests) -> None:
    """Measure an update of one text with and without the index, in turns."""
    make_drafts(storage, OURS)
    client, seconds = TimingClient(storage.server.port), dict[bool, list[float]]()
    for turn in with_progress(range(2 * TURNS), "Changes", 2 * TURNS):
        with indexed(run.installation, turn % 2 == 1):
            times = [client.send(storage.update(turn * CHANGES + number)).seconds for number in range(CHANGES)]
            seconds.setdefault(turn % 2 == 1, []).extend(times[UNMEASURED:])
    with_index, without = (statistics.median(seconds[each]) for each in (True, False))
    run.limit("Update of one element, times that without the index", with_index / without, most=1.15)
    rows = [("with the index", f"{1000 * with_index:.2f}"), ("without", f"{1000 * without:.2f}")]
    run.add("Update of one element", table(["", "ms"], rows))
