"""Words of generated elements (D405): terms of processes, organisations, documents and risks in English and German.

The first words of a list are drawn most often. Rare words occur in one of some thousands of elements.
"""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """`joined` is the German form at the beginning of a compound: Auftrag, Auftragsprüfung."""

    english: str
    german: str
    joined: str = ""

    @property
    def title(self) -> str:
        return self.english[:1].upper() + self.english[1:]


def _terms(text: str) -> tuple[Term, ...]:
    return tuple(
        Term(*(part.strip() for part in line.split("|"))) for line in text.replace("\n", ";").split(";") if line.strip()
    )


OBJECTS = _terms("""
    order|Auftrag|Auftrags; customer|Kunde|Kunden; invoice|Rechnung|Rechnungs; stock|Bestand|Bestands
    contract|Vertrag|Vertrags; supplier|Lieferant|Lieferanten; material|Material|Material; product|Produkt|Produkt
    machine|Maschine|Maschinen; tool|Werkzeug|Werkzeug; component|Bauteil|Bauteil; delivery|Lieferung|Liefer
    shipment|Sendung|Sendungs; return|Retoure|Retouren; complaint|Reklamation|Reklamations; offer|Angebot|Angebots
    price|Preis|Preis; budget|Budget|Budget; cost|Kosten|Kosten; payment|Zahlung|Zahlungs; account|Konto|Konten
    asset|Anlage|Anlagen; building|Gebäude|Gebäude; vehicle|Fahrzeug|Fahrzeug; project|Projekt|Projekt
    task|Aufgabe|Aufgaben; appointment|Termin|Termin; shift|Schicht|Schicht; employee|Mitarbeiter|Mitarbeiter
    applicant|Bewerber|Bewerber; training|Schulung|Schulungs; salary|Gehalt|Gehalts; travel|Reise|Reise
    expense|Spesen|Spesen; quality|Qualität|Qualitäts; sample|Probe|Proben; batch|Charge|Chargen
    drawing|Zeichnung|Zeichnungs; design|Entwurf|Entwurfs; requirement|Anforderung|Anforderungs
    change|Änderung|Änderungs; document|Dokument|Dokumenten; record|Aufzeichnung|Aufzeichnungs; data|Daten|Daten
    backup|Sicherung|Sicherungs; server|Server|Server; network|Netzwerk|Netzwerk; software|Software|Software
    licence|Lizenz|Lizenz; access|Zugang|Zugangs; password|Kennwort|Kennwort; incident|Vorfall|Vorfall
    fault|Störung|Störungs; service|Wartung|Wartungs; energy|Energie|Energie; waste|Abfall|Abfall
    emission|Emission|Emissions; accident|Unfall|Unfall; hazard|Gefahr|Gefahren; visitor|Besucher|Besucher
    audit|Audit|Audit; measure|Maßnahme|Maßnahmen; risk|Risiko|Risiko; guideline|Richtlinie|Richtlinien
    patent|Patent|Patent; brand|Marke|Marken; market|Markt|Markt; campaign|Kampagne|Kampagnen; survey|Umfrage|Umfrage
    tender|Ausschreibung|Ausschreibungs; permit|Genehmigung|Genehmigungs; customs|Zoll|Zoll; export|Ausfuhr|Ausfuhr
    freight|Fracht|Fracht; container|Container|Container; warehouse|Lager|Lager; packaging|Verpackung|Verpackungs
    label|Etikett|Etiketten; recipe|Rezeptur|Rezeptur; laboratory|Labor|Labor; insurance|Versicherung|Versicherungs
    tax|Steuer|Steuer; credit|Kredit|Kredit; meeting|Sitzung|Sitzungs; decision|Beschluss|Beschluss; goal|Ziel|Ziel
    indicator|Kennzahl|Kennzahlen; report|Bericht|Berichts; demand|Bedarf|Bedarfs; capacity|Kapazität|Kapazitäts
    spare part|Ersatzteil|Ersatzteil; catalogue|Katalog|Katalog
""")
ACTIVITIES = _terms("""
    check|Prüfung; planning|Planung; approval|Freigabe; processing|Bearbeitung; recording|Erfassung; control|Steuerung
    monitoring|Überwachung; assessment|Bewertung; analysis|Analyse; handling|Abwicklung; adjustment|Anpassung
    inspection|Kontrolle; documentation|Dokumentation; reporting|Auswertung; calculation|Berechnung
    comparison|Vergleich; correction|Korrektur; closing|Abschluss; opening|Eröffnung; handover|Übergabe
    acceptance|Annahme; issue|Ausgabe; receipt|Eingang; request|Anfrage; confirmation|Bestätigung
    cancellation|Stornierung; notification|Meldung; allocation|Zuordnung; distribution|Verteilung
    procurement|Beschaffung; selection|Auswahl; development|Entwicklung; optimisation|Optimierung
    improvement|Verbesserung; measurement|Messung; registration|Anmeldung; withdrawal|Rücknahme; review|Durchsicht
    forecast|Prognose; coordination|Abstimmung; preparation|Vorbereitung; tracking|Nachverfolgung; posting|Buchung
    archiving|Archivierung; upkeep|Pflege; testing|Erprobung; labelling|Kennzeichnung; collection|Abholung
    search|Suche; reconciliation|Abgleich; disposal|Entsorgung; clearing|Klärung; modelling|Modellierung
    reservation|Reservierung; transfer|Übertragung; instruction|Einweisung
""")
DOCUMENTS = _terms("""
    purchase order|Bestellung; delivery note|Lieferschein; checklist|Checkliste; form|Formular
    work instruction|Arbeitsanweisung; parts list|Stückliste; test report|Prüfbericht; minutes|Protokoll
    quotation|Kostenvoranschlag; certificate|Zertifikat; manual|Handbuch; data sheet|Datenblatt
    shift schedule|Schichtplan; bill of lading|Frachtbrief; credit note|Gutschrift; reminder|Mahnung
    receipt voucher|Beleg; balance sheet|Bilanz; cost estimate|Kalkulation; project plan|Projektplan
    specification|Pflichtenheft; user story|Anwenderbericht; test plan|Testplan; release note|Versionshinweis
    handover record|Übergabeprotokoll; inspection plan|Prüfplan; control plan|Kontrollplan; emergency plan|Notfallplan
    safety data sheet|Sicherheitsdatenblatt; job description|Stellenbeschreibung; reference|Zeugnis
    employment contract|Arbeitsvertrag; travel request|Reiseantrag; holiday request|Urlaubsantrag
    organisation chart|Organigramm; training record|Schulungsnachweis; audit report|Auditbericht
    deviation report|Abweichungsbericht; action list|Maßnahmenliste; forecast table|Vorschau; price list|Preisliste
    framework agreement|Rahmenvereinbarung; declaration|Erklärung; power of attorney|Vollmacht
    tax return|Steuererklärung; annual report|Jahresbericht; newsletter|Rundschreiben
    business case|Wirtschaftlichkeitsrechnung; circuit diagram|Schaltplan; assembly drawing|Montagezeichnung
    operating permit|Betriebserlaubnis; log book|Logbuch
""")
UNITS = _terms("""
    purchasing|Einkauf; sales|Vertrieb; accounting|Buchhaltung; production|Fertigung; logistics|Logistik
    quality management|Qualitätsmanagement; assembly|Montage; human resources|Personalwesen; engineering|Konstruktion
    customer service|Kundendienst; controlling|Controlling; management|Geschäftsführung
    information technology|Informatik; goods receipt|Wareneingang; goods issue|Warenausgang
    legal department|Rechtsabteilung; marketing|Werbung; facility management|Hausverwaltung; works council|Betriebsrat
    data protection|Datenschutz; occupational safety|Arbeitssicherheit; environmental office|Umweltstelle
    treasury|Finanzwesen; internal audit|Revision; project office|Projektbüro; toolmaking|Werkzeugbau
    paint shop|Lackiererei; test field|Prüffeld; field service|Außendienst; help desk|Anlaufstelle; research|Forschung
    product management|Produktmanagement; site management|Werkleitung; payroll|Lohnbüro; apprenticeship|Ausbildung
    canteen|Kantine; fleet|Fuhrpark; reception|Empfang; mail room|Poststelle; plant security|Werkschutz
""")
RISKS = _terms("""
    delay|Verzug; mix-up|Verwechslung; failure|Ausfall; shortage|Engpass; error|Fehler; damage|Beschädigung
    loss|Verlust; fraud|Betrug; theft|Diebstahl; contamination|Verunreinigung; overload|Überlastung; misuse|Missbrauch
    data loss|Datenverlust; currency risk|Währungsrisiko; default|Zahlungsausfall; strike|Streik; outage|Stromausfall
    penalty|Vertragsstrafe; liability|Haftung; recall|Rückruf; obsolescence|Veralterung
    wrong delivery|Falschlieferung; double posting|Doppelbuchung; excess stock|Überbestand; rework|Nacharbeit
    scrap|Ausschuss; injury|Verletzung; explosion|Explosion; flood|Hochwasser; fire|Brand; espionage|Spionage
    phishing|Datendiebstahl; bias|Befangenheit; conflict of interest|Interessenkonflikt; staff turnover|Fluktuation
    dependency|Abhängigkeit; price increase|Preissteigerung; non-compliance|Regelverstoß; wrong forecast|Fehlprognose
    corrosion|Korrosion
""")
RARE = _terms("""
    galvanising|Verzinkung; anodising|Eloxierung; calibration|Kalibrierung; embargo|Embargo
    arbitration|Schiedsverfahren; insolvency|Insolvenz; escrow|Hinterlegung; factoring|Forderungsverkauf
    demurrage|Liegegeld; quarantine|Quarantäne; sterilisation|Sterilisation; pasteurisation|Pasteurisierung
    fermentation|Gärung; distillation|Destillation; centrifuge|Zentrifuge; autoclave|Autoklav
    spectrometer|Spektrometer; borescope|Endoskop; torque|Drehmoment; viscosity|Viskosität; turbidity|Trübung
    radiography|Durchstrahlung; ultrasound|Ultraschall; metallography|Metallografie; asbestos|Asbest
    legionella|Legionellen; mercury|Quecksilber; radon|Radon; biocide|Biozid; pesticide|Pestizid; beekeeping|Imkerei
    viticulture|Weinbau; forestry|Forstwirtschaft; hydropower|Wasserkraft; photovoltaics|Photovoltaik; biogas|Biogas
    geothermal|Geothermie; desalination|Entsalzung; dredging|Baggerung; blasting|Sprengung; scaffolding|Gerüstbau
    elevator|Aufzug; escalator|Rolltreppe; sprinkler|Sprinkler; defibrillator|Defibrillator; evacuation|Evakuierung
    crane|Kran; forklift|Gabelstapler; drone|Drohne; satellite|Satellit; blockchain|Blockkette; mainframe|Großrechner
    tokenisation|Tokenisierung; pseudonym|Pseudonym; whistleblower|Hinweisgeber; subsidy|Fördermittel
    antitrust|Kartellrecht; copyright|Urheberrecht; trademark|Warenzeichen; notary|Notar; annuity|Leibrente
    derivative|Derivat; hedging|Kurssicherung; leasing|Leasing; inheritance|Erbschaft; relocation|Umzug
    sabbatical|Auszeit; apprentice|Lehrling; pension|Betriebsrente; maternity|Mutterschutz; ergonomics|Ergonomie
    vaccination|Impfung; mediation|Mediation; ombudsman|Ombudsstelle; translation|Übersetzung; herbarium|Herbarium
    telescope|Teleskop; glacier|Gletscher; lighthouse|Leuchtturm; locomotive|Lokomotive
""")
