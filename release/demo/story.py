"""Acts of the demo: who did what with which element, in days before the setup.

Elements and people are those of elements/demo/showcase.ndjson. The acts bring every version that waits in the file back
to the state of the file, release new versions of elements that no example of the documentation shows, and end some.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

ADMINISTRATOR = "5e2fb998-9616-58b7-9888-009dd6036e20"
ARCHITECT = "ef48fe82-0c34-5db0-b13f-8aa83b9d648b"
QUALITY = "2c27973d-3243-5123-b8d5-42d8406e9748"
DIRECTOR = "ae44766a-b092-573d-b69b-074cd3c51253"
SALES = "ecf12ff0-9718-556b-bf70-cfbf38ef3047"
PRODUCTION = "8a3c46cc-c466-5035-b8f3-a6814294be28"
SUPPLY = "e9bcf464-3019-5368-a062-17ca41c75a8f"
DEVELOPMENT = "eef42010-fb87-53b0-9835-07a290ad281d"
SERVICES = "66e6babf-4fc1-56f9-8c97-d9668a5f3bf3"

REVIEW, QA, RELEASE = "InProcessToInReview", "InProcessToReadyForQA", "InProcessToReadyForRelease"
END = "ReleasedToRequestToExpire"


COMMENTS = ("Complete and easy to follow.", "Checked with the people who do it.", "Agreed, thank you.")


class Do(StrEnum):
    GRANT = "grant"
    SUBSCRIBE = "subscribe"
    REVISE = "revise"
    APPLY = "apply"
    ACCEPT = "accept"
    REJECT = "reject"
    DELEGATE = "delegate"
    REMIND = "remind"
    EXPIRE = "expire"


class Act(NamedTuple):
    element: str
    days: float
    """Days before the setup; the fraction is the time of the day, .9 in the morning and .1 in the afternoon."""
    who: str
    do: Do
    text: str = ""
    """The comment; the English text of a revision."""
    key: str = ""
    """The transition, or the new assignee."""
    german: str = ""
    ends: float | None = None
    """The end that is asked for, in days after the setup."""


def submitted(element: str, who: str, days: float, key: str, text: str = "") -> list[Act]:
    return [Act(element, days, who, Do.APPLY, text, key)]


def accepted(element: str, who: str, days: float, text: str) -> list[Act]:
    return [Act(element, days, who, Do.ACCEPT, text)]


def revised(element: str, author: str, days: float, way: str, english: str, german: str) -> list[Act]:
    revision = Act(element, days + 2.6, author, Do.REVISE, english, german=german)
    return [revision, *submitted(element, author, days, way, english)]


def released(element: str, author: str, days: float, way: str, reviewer: str, english: str, german: str) -> list[Act]:
    """Return the acts of a new version, from the first edit to its release `days` before the setup.

    The author is the owner, who releases after a review; without a review, somebody else does (four-eyes principle).
    """
    acts = revised(element, author, days + 4.35, way, english, german)
    thanks = COMMENTS[len(english) % len(COMMENTS)]
    if not reviewer:
        return [*acts, *accepted(element, QUALITY, days, thanks)]
    return [
        *acts,
        *accepted(element, reviewer, days + 1.8, thanks),
        *accepted(element, author, days, "Valid from today."),
    ]


def ending(element: str, who: str, days: float, text: str, ends: float) -> list[Act]:
    return [Act(element, days, who, Do.APPLY, text, END, ends=ends)]


TORQUE_TABLE = "b1dd028e-4a7b-5b82-ad45-984153a7dff5"
COMPLAINT_FORM = "baa89034-0b51-5d48-a91f-ad177c51e686"
FORKLIFT_LICENCE = "8e80bfa7-0529-52cf-9a04-5801bd8b8966"
FRAME_TEST = "64988a81-c032-529e-89ce-28f9e9abee3f"
DAYS_OF_STOCK = "1421c531-e1e7-57a4-aef9-44b6aaf33a84"
ERP_OUTAGE = "75a774c5-578a-5412-b07b-c6ed8ccaad2c"
OCCUPATIONAL_SAFETY = "b93dd098-2fa6-52f8-a541-cc5ba86496ee"
INTERVIEW_GUIDE = "85b4db20-1400-56f6-b81e-f829e2b4e718"
TEST_LABORATORY = "320da2fb-7d83-55f8-bbc5-d63f514c8bdc"
SERVICE_CENTRE = "bbdbcad5-60f8-5f3e-bf8b-c70207d99280"
DESIGN_ENGINEER = "4641d9b3-eef1-5740-934e-30c05d765bd1"
PAINTING_INSTRUCTION = "5faf324a-6b6a-5534-865c-a3fe3dcb4606"
PURCHASING_POLICY = "550bd2bc-2597-5e60-9d2d-e730442de4bb"

RELEASES = [
    *released(
        PURCHASING_POLICY, SUPPLY, 57, RELEASE, "",
        "Orders above 25,000 euros need two quotations.", "Bestellungen über 25.000 Euro brauchen zwei Angebote.",
    ),
    *released(
        PAINTING_INSTRUCTION, PRODUCTION, 48, RELEASE, "",
        "Drying takes 40 minutes with the new primer.", "Mit der neuen Grundierung dauert das Trocknen 40 Minuten.",
    ),
    *released(
        DESIGN_ENGINEER, DEVELOPMENT, 41, RELEASE, "",
        "Checks that parts can be repaired.", "Prüft, ob sich Teile reparieren lassen.",
    ),
    *released(
        SERVICE_CENTRE, SALES, 34, RELEASE, "",
        "The workshop is open on Saturdays.", "Die Werkstatt ist samstags geöffnet.",
    ),
    *released(
        INTERVIEW_GUIDE, SERVICES, 29, REVIEW, QUALITY,
        "Every interview ends with questions of the applicant.",
        "Jedes Gespräch endet mit Fragen der Bewerberin oder des Bewerbers.",
    ),
    *released(
        TEST_LABORATORY, DEVELOPMENT, 22.3, REVIEW, QUALITY,
        "A second rig tests batteries in heat and cold.", "Ein zweiter Prüfstand testet Akkus bei Hitze und Kälte.",
    ),
    *released(
        OCCUPATIONAL_SAFETY, PRODUCTION, 17.1, QA, QUALITY,
        "Home offices are assessed as well.", "Auch Heimarbeitsplätze werden beurteilt.",
    ),
    *released(
        ERP_OUTAGE, SERVICES, 13.2, RELEASE, "",
        "A paper form bridges up to one day.", "Ein Papierformular überbrückt bis zu einen Tag.",
    ),
    *released(
        DAYS_OF_STOCK, SUPPLY, 9.4, REVIEW, QUALITY,
        "Spare parts count separately.", "Ersatzteile zählen getrennt.",
    ),
    *released(
        FRAME_TEST, DEVELOPMENT, 6.2, REVIEW, ARCHITECT,
        "Record the temperature of the hall.", "Die Temperatur der Halle festhalten.",
    ),
    *released(
        FORKLIFT_LICENCE, SUPPLY, 4.1, RELEASE, "",
        "The examination includes the new reach trucks.", "Die Prüfung umfasst die neuen Schubmaststapler.",
    ),
    *released(
        COMPLAINT_FORM, SALES, 2.2, REVIEW, QUALITY,
        "A photo of the damage is enough.", "Ein Foto des Schadens genügt.",
    ),
    *released(
        TORQUE_TABLE, PRODUCTION, 0.3, REVIEW, QUALITY,
        "Carbon seat posts: 4 Nm with assembly paste.", "Sattelstützen aus Carbon: 4 Nm mit Montagepaste.",
    ),
]  # fmt: skip

BATTERY_PASSPORT = "f9b4c5bd-29bc-5fd5-9102-99d3f521ab8e"
MES = "1c601850-3038-5855-8bd2-6e17b808cab8"
CODE_OF_CONDUCT = "492a1599-61d8-5e80-bd56-2eda29ab60e6"
HANDLING_OF_BATTERIES = "a7325d99-752c-5174-9186-6b4475bb9707"
GLOSSARY = "1f7fe8c7-3f28-522f-b829-cf2d62bbea9b"
CONTRIBUTION_MARGIN = "204450a8-3380-54ee-90dd-73570acfa61e"
LEADING_A_TEAM = "da9c7212-1a40-5985-ba1a-716815aec533"
RECALL_EXERCISE = "aab2dec2-7222-53f3-a95d-8eb757401668"
ASSESS_RISKS = "289be706-e2bb-51d5-8149-795056f4c0da"
SERIES_PRODUCTION = "04864804-9aef-57e8-9a5d-b6d43b76c364"
PICK_AND_DISPATCH = "33226fed-c31c-5588-ac0f-c2388d2317f8"
SERVE_CUSTOMERS = "fc612c34-f66b-5c75-a6be-9c0c6ebd565d"
PRODUCT_RECALL = "c1e3a51c-c524-5602-940b-91e28d4e0b35"
MAINTAIN_PLANT = "a900b946-8c3c-596e-a3e1-d9b344578912"
CARGO_E_BIKE = "feb14cce-f10f-50bb-bacb-b38fab32504a"
PLAN_BUDGET = "27a13a9d-f7bb-5426-bbfa-d9285df04370"
EXIT_INTERVIEWS = "b8ed1f8b-facd-5fb0-96b2-4aa220b2f625"
ORDER_LEAD_TIME = "0085ebcb-f208-5888-a0f7-50adf04a1595"
TIME_TO_HIRE = "a070cbb7-d86c-53b8-80bb-5d8d85f74453"

# Tasks are due two weeks after the step that opens them.
WORK = [
    *submitted(SERVE_CUSTOMERS, SALES, 16.4, REVIEW, "The service desk now has one number."),
    Act(SERVE_CUSTOMERS, 1.4, SALES, Do.REMIND, "The training starts next week."),
    *submitted(MES, PRODUCTION, 15.2, REVIEW, "Version 7 replaces the terminals in hall 2."),
    *submitted(SERIES_PRODUCTION, DEVELOPMENT, 13.2, QA, "Includes the lessons of the last two models."),
    *submitted(ASSESS_RISKS, QUALITY, 11.6, REVIEW),
    *submitted(GLOSSARY, QUALITY, 8.3, REVIEW, "Please look at the terms of the battery rules."),
    *submitted(CODE_OF_CONDUCT, SUPPLY, 6.1, QA, "Adds the duty to report incidents within two days."),
    *submitted(LEADING_A_TEAM, SERVICES, 5.2, REVIEW, "First course in spring."),
    *submitted(MAINTAIN_PLANT, PRODUCTION, 4.4, QA),
    *submitted(BATTERY_PASSPORT, DEVELOPMENT, 3.3, REVIEW, "Needed before the battery rules take effect."),
    *submitted(CONTRIBUTION_MARGIN, ARCHITECT, 2.1, QA),
    *submitted(RECALL_EXERCISE, QUALITY, 0.9, RELEASE, "The exercise is planned for next month."),
    *submitted(PICK_AND_DISPATCH, SUPPLY, 19.2, REVIEW, "Parcels and pallets now share one pick list."),
    *accepted(PICK_AND_DISPATCH, ARCHITECT, 13.5, "The interface to the carrier is clear now."),
    *submitted(PRODUCT_RECALL, QUALITY, 12.4, REVIEW),
    *accepted(PRODUCT_RECALL, ARCHITECT, 7.3, "Agreed with the authorities' guideline."),
    *submitted(HANDLING_OF_BATTERIES, PRODUCTION, 10.3, REVIEW, "Damaged batteries go into the sand box."),
    *accepted(HANDLING_OF_BATTERIES, QUALITY, 4.2, "Checked with the fire brigade."),
    *submitted(CARGO_E_BIKE, DEVELOPMENT, 9.5, QA, "Type approval has arrived."),
    *accepted(CARGO_E_BIKE, QUALITY, 5.4, "Brake test passed."),
    *revised(
        ORDER_LEAD_TIME, SALES, 14.1, REVIEW, "Counts from the complete order.", "Zählt ab dem vollständigen Auftrag."
    ),
    *accepted(ORDER_LEAD_TIME, QUALITY, 7.2, "Better to compare."),
    *revised(TIME_TO_HIRE, SERVICES, 8.1, REVIEW, "Counts working days only.", "Zählt nur Arbeitstage."),
    *accepted(TIME_TO_HIRE, QUALITY, 1.1, "Matches the report."),
    *submitted(PLAN_BUDGET, SERVICES, 12.2, REVIEW, "With the new planning calendar."),
    Act(PLAN_BUDGET, 8.2, ARCHITECT, Do.REJECT, "The approval limits are missing."),
    *submitted(EXIT_INTERVIEWS, SERVICES, 7.1, REVIEW),
    Act(EXIT_INTERVIEWS, 5.1, QUALITY, Do.REJECT, "Please ask the works council first."),
]

AUDIT_COURSE = "9e6898b3-032d-53b1-afd4-c4442bebb072"
AUDIT_CHECKLIST = "9ae42cf0-1978-59fd-a16b-09c1a7a0034e"
PRIVACY_COURSE = "db944625-50a2-5e76-bb90-9827b8e1581d"
FACTORY_SHOP = "475ab93a-2f9d-54f1-b9a4-4aea3a72bcbf"
TICKET_SYSTEM = "7f16009f-456a-5b8e-a907-762f66cbd68c"

ENDS = [
    # The licence expired, and a new version followed.
    *ending(FORKLIFT_LICENCE, SUPPLY, 40.3, "The examination changes with the new trucks.", -12),
    *accepted(FORKLIFT_LICENCE, DIRECTOR, 38.2, "Agreed. Please prepare the new course in time."),
    Act(FORKLIFT_LICENCE, 12.9, "", Do.EXPIRE),
    *ending(AUDIT_COURSE, QUALITY, 20.2, "A new course follows.", 45),
    *accepted(AUDIT_COURSE, DIRECTOR, 18.4, "The new course replaces it."),
    *ending(PRIVACY_COURSE, SERVICES, 14.4, "The provider stops the course.", 12),
    *accepted(PRIVACY_COURSE, QUALITY, 12.1, "Book the successor before it ends."),
    *ending(FACTORY_SHOP, SALES, 8.4, "The shop closes for rebuilding.", 27),
    *accepted(FACTORY_SHOP, QUALITY, 6.4, "Agreed with the works council."),
    *ending(TICKET_SYSTEM, SERVICES, 15.3, "The service desk moves to a new tool.", 90),
    Act(TICKET_SYSTEM, 9.3, QUALITY, Do.DELEGATE, "Please check the interfaces first.", ADMINISTRATOR),
    *ending(AUDIT_CHECKLIST, QUALITY, 2.3, "Replaced by the checklist of the audit tool.", 30),
    Act(AUDIT_CHECKLIST, 1.2, ADMINISTRATOR, Do.DELEGATE, "The internal auditor cannot approve this.", DIRECTOR),
]


# Owners release, so they need the role.
GRANTS = [Act(owner, 70, ADMINISTRATOR, Do.GRANT) for owner in (SALES, PRODUCTION, SUPPLY, DEVELOPMENT, SERVICES)]

WORK_INSTRUCTIONS = "dc928c7c-0761-5a52-bcdc-1cda7ee1d4ec"
SUBSCRIPTIONS = [Act(each, 70, QUALITY, Do.SUBSCRIBE) for each in (WORK_INSTRUCTIONS, FRAME_TEST, PICK_AND_DISPATCH)]


def story() -> list[Act]:
    """Return all acts in the order of time."""
    return sorted([*GRANTS, *SUBSCRIPTIONS, *RELEASES, *WORK, *ENDS], key=lambda act: -act.days)
