"""Storages that had versioned types before there were release cycles get the one whose states those versions are in."""

import json
from uuid import NAMESPACE_URL, uuid5

from django.db import migrations

NAMESPACE = uuid5(NAMESPACE_URL, 'content-repository:configuration')
STATES = [
    ('inProcess', 'draft', 'In Bearbeitung', 'In process'),
    ('inReview', 'review', 'In Prüfung', 'In review'),
    ('readyForQa', 'review', 'Bereit für die Qualitätssicherung', 'Ready for quality assurance'),
    ('readyForRelease', 'review', 'Bereit zur Freigabe', 'Ready for release'),
    ('released', 'published', 'Freigegeben', 'Released'),
    ('inEffect', 'published', 'In Kraft', 'In effect'),
    ('requestToExpire', 'published', 'Ablauf beantragt', 'Expiry requested'),
    ('expired', 'retired', 'Abgelaufen', 'Expired'),
]
TRANSITIONS = [
    ('InProcessToInReview', 'inProcess', 'inReview', 'Prüfen lassen', 'Submit for review'),
    ('InProcessToReadyForQA', 'inProcess', 'readyForQa', 'An die Qualitätssicherung geben', 'Submit for quality assurance'),
    ('InProcessToReadyForRelease', 'inProcess', 'readyForRelease', 'Zur Freigabe vorlegen', 'Submit for release'),
    ('InProcessToReleased', 'inProcess', 'released', 'Freigeben', 'Release'),
    ('InProcessToReleasedQA', 'inProcess', 'released', 'Durch die Qualitätssicherung freigeben', 'Release by quality assurance'),
    ('InProcessToReleasedExternal', 'inProcess', 'released', 'Nach externer Freigabe freigeben', 'Release after external approval'),
    ('InReviewToInProcess', 'inReview', 'inProcess', 'Zur Bearbeitung zurückgeben', 'Send back for editing'),
    ('InReviewToReadyForQA', 'inReview', 'readyForQa', 'An die Qualitätssicherung geben', 'Submit for quality assurance'),
    ('InReviewToReadyForRelease', 'inReview', 'readyForRelease', 'Zur Freigabe vorlegen', 'Submit for release'),
    ('ReadyForQAToInProcess', 'readyForQa', 'inProcess', 'Zur Bearbeitung zurückgeben', 'Send back for editing'),
    ('ReadyForQAToReadyForRelease', 'readyForQa', 'readyForRelease', 'Zur Freigabe vorlegen', 'Submit for release'),
    ('ReadyForReleaseToInProcess', 'readyForRelease', 'inProcess', 'Zur Bearbeitung zurückgeben', 'Send back for editing'),
    ('ReadyForReleaseToReleased', 'readyForRelease', 'released', 'Freigeben', 'Release'),
    ('ReleasedToRequestToExpire', 'released', 'requestToExpire', 'Ablauf beantragen', 'Request expiry'),
    ('InEffectToRequestToExpire', 'inEffect', 'requestToExpire', 'Ablauf beantragen', 'Request expiry'),
]
RELEASING = ['inReview', 'readyForQa', 'readyForRelease', 'released']
RULES = [
    ('name', 'error', True, RELEASING, 'der Name fehlt', 'no name is given'),
    ('owner', 'warning', False, ['released'], 'kein Verantwortlicher ist eingetragen', 'no owner is set'),
    ('reasonForRevision', 'warning', False, ['released'], 'kein Änderungsgrund ist angegeben', 'no reason for the revision is given'),
]


def row_id(*path):
    return uuid5(NAMESPACE, '\x1f'.join(path))


def texts(german, english):
    return json.dumps({'1031': german, '1033': english})


def add_cycles(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute('SELECT id FROM storage_storage')
        for storage, in cursor.fetchall():
            cursor.execute("SELECT set_config('repository.storage', %s, true)", [str(storage)])
            cursor.execute('SELECT 1 FROM facets_elementtype WHERE is_versioned LIMIT 1')
            if cursor.fetchone():
                add_cycle(cursor)
        cursor.execute("SELECT set_config('repository.storage', '', true)")


def add_cycle(cursor):
    cycle = row_id('cycle', 'standard')
    cursor.execute(
        "INSERT INTO facets_releasecycle (id, position, key, display_names, takes_effect) VALUES (%s, 0, 'standard', %s, '')",
        [cycle, texts('Standard', 'Standard')],
    )
    for position, (key, category, german, english) in enumerate(STATES):
        cursor.execute(
            'INSERT INTO facets_cyclestate (id, position, cycle_id, key, category, display_names) VALUES (%s, %s, %s, %s, %s, %s)',
            [row_id('state', 'standard', key), position, cycle, key, category, texts(german, english)],
        )
    for position, (key, source, target, german, english) in enumerate(TRANSITIONS):
        cursor.execute(
            'INSERT INTO facets_transition (id, position, cycle_id, key, source_id, target_id, task, ends_version, display_names)'
            ' VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)',
            [row_id('transition', 'standard', key), position, cycle, key, row_id('state', 'standard', source),
             row_id('state', 'standard', target), 'Approve expiry' if target == 'requestToExpire' else '',
             target == 'requestToExpire', texts(german, english)],
        )
    for position, (key, severity, per_culture, states, german, english) in enumerate(RULES):
        cursor.execute(
            'INSERT INTO facets_validationrule (id, position, key, property, severity, per_culture, states, transitions, messages)'
            " SELECT %s, %s, %s, %s, %s, %s AND bool_or(p.data_type <> '' AND NOT p.is_invariant_culture), %s, '[]', %s"
            ' FROM facets_property p JOIN facets_elementtype t ON t.id = p.type_id WHERE t.is_versioned AND p.key = %s'
            ' HAVING count(*) > 0',
            [row_id('rule', key), position, key, key, severity, per_culture, json.dumps(states),
             texts(german, english), key],
        )
    cursor.execute('UPDATE facets_elementtype SET release_cycle_id = %s WHERE is_versioned', [cycle])


class Migration(migrations.Migration):

    dependencies = [
        ('facets', '0002_release_cycles'),
        ('storage', '0002_configuration_revision'),
    ]

    operations = [
        migrations.RunPython(add_cycles, migrations.RunPython.noop),
    ]
