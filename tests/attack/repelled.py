"""Attacks that have a test of their own, which `make attack` runs, too.

The others are hostile inputs (`hostile_inputs.py`), the fuzzer (`attack.py`), and the fault tests of memory and
fairness (`tests/faults`).
"""

from __future__ import annotations

import subprocess
import sys

from repository_site.core.environment import PROJECT_DIR

ATTACKS = {
    "markup that is expensive to check, to clean or to compare": "tests/elements/texts/test_hostile_content.py",
    "pages that hold a connection while they compute": "tests/elements/reader_pages/test_pages_without_a_connection.py",
    "references, trees, attributes and bodies without a limit": "tests/elements/writing/test_limits.py",
    "responses that need gigabytes": "tests/elements/reading/test_bounded_responses.py",
    "large lists at the same time": "tests/repository_site/fairness/test_large_lists.py",
    "a backup that unpacks to gigabytes, or exceeds limits": "tests/storage/test_backup_limits.py",
    "a storage that grows without end": "tests/storage/test_quotas.py",
    "a collection that grows without end": "tests/storage/test_storages_api.py",
    "web pages of other origins": "tests/storage/test_cross_origin.py",
    "messages of agents": "tests/release/agents/test_protocol.py",
    "filters with hundreds of conditions": "tests/elements/filters/test_filter_cost.py",
    "searches that find long texts": "tests/elements/search/test_bounded_search.py",
    "events that are large": "tests/elements/events/test_bounded_feed.py",
    "names that are long": "tests/elements/texts/test_bounded_names.py",
    "BPMN documents with very many parts": "tests/elements/bpmn/test_bpmn_bounds.py",
    "headers with underscores": "tests/repository_site/running_server/test_underscore_headers.py",
    "references that create what the caller must not create": "tests/elements/writing/test_one_way_to_create.py",
    "entity tags from before a restore or an import": "tests/elements/writing/test_tags_never_repeat.py",
    "revoked tokens of a restored storage": "tests/storage/test_restored_tokens.py",
    "elements of tokens": "tests/elements/access/test_token_elements_hidden.py",
    "names of accounts": "tests/storage/test_membership_office.py",
    "a configuration that changes during a request": "tests/elements/reading/test_configuration_snapshot.py",
    "a new connection that keeps a scope": "tests/repository_site/test_warming.py",
    "the connection of an abandoned stream": "tests/elements/reading/test_replica_reads.py",
}


def run_tests() -> str:
    """Return the output of the tests if one has failed, otherwise an empty text."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *ATTACKS.values()],
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr if done.returncode else ""
