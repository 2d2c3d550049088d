"""Reads release cycles and validation rules of a template document, and collects problems with their places."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from django.utils.translation import gettext as _

from facets.blueprint.cycles import OPEN, Category, ReleaseCycle, Severity, State, Transition, ValidationRule
from facets.blueprint.derived_properties import DERIVED_ATTRIBUTES, DERIVED_CONTEXTS
from facets.template_format.document_nodes import BAD_KEY, KEY, UNKNOWN_STATE, UNKNOWN_TRANSITION, Node

# Clients set the other three, although they are columns of a version.
DERIVED = (DERIVED_ATTRIBUTES.keys() | DERIVED_CONTEXTS) - {"validFrom", "validUntil", "stereotype"}
# No more people decide about one version, and no task waits longer.
MAX_APPROVALS, MAX_DAYS = 100, 3650
CATEGORIES = tuple(each.value for each in Category if each is not Category.STATIC)


def read_cycle(key: str, node: Node) -> ReleaseCycle:
    node.fields("displayNames", "states", "transitions", "takesEffect")
    node.check(KEY, key, BAD_KEY)
    names = [name for name, each in node.child("states").entries()]
    found = [_state(name, each) for name, each in node.child("states").entries()]
    states = tuple(each for each in found if each is not None)
    by_key = {each.key: each for each in states}
    transitions = tuple(_transition(name, each, names, by_key) for name, each in node.child("transitions").entries())
    for each in states:
        if each.task:
            _check_task(node.at("states", each.key, "task"), each, {way.key: way for way in transitions}, by_key)
    node.child("states").check_case(names)
    node.child("transitions").check_case([each.key for each in transitions])
    effect = node.child("takesEffect")
    if len(states) == len(names):
        _check_categories(node.child("states"), states)
    if not effect.is_absent:
        _check_effect(effect, states)
    return ReleaseCycle(key, node.child("displayNames").texts(required=True), states, transitions, effect.text(""))


def _state(key: str, node: Node) -> State | None:
    """Return None if the category is invalid, since checks that depend on it would report follow-up problems."""
    node.fields("category", "displayNames", "task")
    node.check(KEY, key, BAD_KEY)
    display_names = node.child("displayNames").texts(required=True)
    category = node.child("category")
    if category.value not in CATEGORIES:
        category.problem(_("expected one of %(known)s") % {"known": ", ".join(CATEGORIES)})
        return None
    task = node.child("task")
    if task.is_absent or not task.fields("type", "assignees", "approvals", "dueDays", "accept", "reject"):
        return State(key, Category(category.value), display_names)
    approvals = task.child("approvals")
    return State(
        key,
        Category(category.value),
        display_names,
        task.child("type").text(),
        task.child("assignees").names(),
        0 if approvals.value == "all" else approvals.number(1, MAX_APPROVALS),
        task.child("dueDays").number(0, MAX_DAYS),
        task.child("accept").text(),
        task.child("reject").text(),
    )


def _check_task(node: Node, state: State, transitions: Mapping[str, Transition], states: Mapping[str, State]) -> None:
    """Check that only versions in review wait, that both decisions lead out of the state, and that rejecting does not
    release."""
    if state.category is not Category.REVIEW:
        node.problem(_("only a state of the category review can have a task"))
    for name, key in (("accept", state.accept), ("reject", state.reject)):
        if not key:
            continue
        if key not in transitions:
            node.child(name).unknown(UNKNOWN_TRANSITION, key)
        elif transitions[key].source != state.key:
            node.child(name).problem(_("the transition %(key)s does not begin in this state") % {"key": key})
        elif name == "reject" and (target := states.get(transitions[key].target)) and target.category not in OPEN:
            node.child(name).problem(_("the transition %(key)s must lead to a draft or review state") % {"key": key})


def check_assignees(node: Node, cycle: ReleaseCycle, contexts: Collection[str]) -> None:
    """Check that the assignees of each task are contexts of the versioned types."""
    for state in cycle.states:
        for name, place in node.at("states", state.key, "task", "assignees").named_items().items():
            if name not in contexts:
                place.problem(_('no versioned type has a related context "%(name)s"') % {"name": name})


def _transition(key: str, node: Node, names: Collection[str], states: Mapping[str, State]) -> Transition:
    node.fields("displayNames", "from", "to", "task", "endsVersion")
    node.check(KEY, key, BAD_KEY)
    source, target = node.child("from"), node.child("to")
    for each in (source, target):
        if (name := each.text()) and name not in names:
            each.unknown(UNKNOWN_STATE, name)
    task, ends = node.child("task").text(""), node.child("endsVersion")
    if ends.flag() and not task:
        ends.problem(_("only a transition with a task can end a version"))
    found = Transition(
        key, source.text(""), target.text(""), node.child("displayNames").texts(required=True), task, ends.flag()
    )
    if found.source in states and found.target in states:
        _check_way(node, states[found.source], states[found.target], has_task=bool(task))
    return found


def _check_way(node: Node, source: State, target: State, *, has_task: bool) -> None:
    """Check that published versions can only be retired, and that retired versions stay retired."""
    if source.key == target.key:
        node.child("to").problem(_("a transition must lead to another state"))
    if source.category is Category.RETIRED:
        node.child("from").problem(_("no transition can leave a retired state; create a new version instead"))
    elif source.category is Category.PUBLISHED and target.category in (Category.DRAFT, Category.REVIEW):
        node.child("to").problem(
            _("a published version cannot return to draft or review; create a new version instead")
        )
    elif source.category is not Category.PUBLISHED and target.category is Category.RETIRED:
        node.child("to").problem(_("only a published version can be retired"))
    if has_task and source.category is not Category.PUBLISHED:
        node.child("task").problem(_("only a transition from a published state can have a task"))


def _check_categories(node: Node, states: tuple[State, ...]) -> None:
    there = {each.category for each in states}
    if states and states[0].category is not Category.DRAFT:
        node.problem(_("new versions start in the first state, so its category must be draft"))
    for needed in (Category.DRAFT, Category.PUBLISHED, Category.RETIRED):
        if needed not in there:
            node.problem(_("a release cycle needs a state of the category %(category)s") % {"category": needed})


def _check_effect(node: Node, states: tuple[State, ...]) -> None:
    published = [each.key for each in states if each.category is Category.PUBLISHED]
    if node.text() not in published[1:]:
        node.problem(_("expected a published state other than the first published one"))


def read_rule(key: str, node: Node, cycles: Iterable[ReleaseCycle], properties: Mapping[str, bool]) -> ValidationRule:
    """Read a rule. `properties` has the keys of versioned types: True for those with values by culture."""
    node.fields("property", "severity", "messages", "states", "transitions", "perCulture")
    node.check(KEY, key, BAD_KEY)
    name, severity = node.child("property"), node.child("severity")
    if (named := name.text()) and named not in properties:
        name.problem(_('no versioned type has a property "%(name)s"') % {"name": named})
    if named in DERIVED:
        name.problem(_("the server derives %(key)s, so no rule can require it") % {"key": named})
    if severity.value not in tuple(Severity):
        severity.problem(_("expected one of %(known)s") % {"known": ", ".join(Severity)})
    known_states = {each.key for cycle in cycles for each in cycle.states}
    known_transitions = {each.key for cycle in cycles for each in cycle.transitions}
    for part, known, unknown in (
        ("states", known_states, UNKNOWN_STATE),
        ("transitions", known_transitions, UNKNOWN_TRANSITION),
    ):
        for one, place in node.child(part).named_items().items():
            if one not in known:
                place.unknown(unknown, one)
    rule = ValidationRule(
        key,
        named,
        Severity(severity.value) if severity.value in tuple(Severity) else Severity.ERROR,
        node.child("messages").texts(required=True),
        node.child("states").names(),
        node.child("transitions").names(),
        node.child("perCulture").flag(),
    )
    if not rule.states and not rule.transitions:
        node.problem(_("name at least one state or transition"))
    if rule.per_culture and named in properties and not properties[named]:
        node.child("perCulture").problem(_("%(key)s does not have values by culture") % {"key": named})
    return rule
