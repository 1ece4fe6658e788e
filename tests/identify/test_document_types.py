"""Every document id of the Peppol code list, found in a small document of that type; and who sends it.

Who sends is not read from roles.csv but written down here once more, from the schemas of UBL 2.2 to 2.4 (what each
document and each of its parties is for), UN/CEFACT D22B, the Peppol BIS guides and the guides of Peppol pre-award.
"""

from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from support.documents import BUYER, SELLER, envelope

from filedrop.identify import Identity, codelists, identify, read

UBL = "urn:oasis:names:specification:ubl:schema:xsd:"
CAC, CBC = f"{UBL}CommonAggregateComponents-2", f"{UBL}CommonBasicComponents-2"
UN = "urn:un:unece:uncefact:data:standard:"
RAM = f"{UN}ReusableAggregateBusinessInformationEntity:100"
RIM = "urn:oasis:names:tc:ebxml-regrep:xsd:rim:4.0"
EHF = "urn:fdc:anskaffelser.no:2019:ehf:spec:3.0"
SELF_BILLING = {  # the processes in which the customer writes the invoice
    "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0",
    "urn:peppol:bis:selfbilling",
}

# Document: sender > receiver | the other parties that may have an electronic address. `-` where the type doesn't fix
# who sends: a Peppol waybill goes from the consignor to the carrier and comes back from it, confirmed; a fulfilment
# cancellation takes back a despatch advice or a receipt advice; reports name their reporter by its certificate.
PARTIES = """
ApplicationResponse: SenderParty > ReceiverParty
AttachedDocument: SenderParty > ReceiverParty
AwardedNotification: SenderParty > ReceiverParty
BillOfLading: - | ConsignorParty CarrierParty FreightForwarderParty
BusinessCard: SenderParty > ReceiverParty | BusinessParty
CallForTenders: ContractingParty/Party > ReceiverParty | OriginatorCustomerParty/Party TenderingTerms/TenderRecipientParty
Catalogue: ProviderParty > ReceiverParty | SellerSupplierParty/Party ContractorCustomerParty/Party
CatalogueDeletion: ProviderParty > ReceiverParty | SellerSupplierParty/Party ContractorCustomerParty/Party
CatalogueItemSpecificationUpdate: ProviderParty > ReceiverParty | SellerSupplierParty/Party
CataloguePricingUpdate: ProviderParty > ReceiverParty | SellerSupplierParty/Party
CatalogueRequest: ReceiverParty > ProviderParty | SellerSupplierParty/Party
CertificateOfOrigin: - | ExporterParty ImporterParty
ContractAwardNotice: ContractingParty/Party > ReceiverParty | OriginatorCustomerParty/Party
ContractNotice: ContractingParty/Party > ReceiverParty | OriginatorCustomerParty/Party
CreditNote: AccountingSupplierParty/Party > AccountingCustomerParty/Party | PayeeParty BuyerCustomerParty/Party SellerSupplierParty/Party TaxRepresentativeParty
DebitNote: AccountingSupplierParty/Party > AccountingCustomerParty/Party | PayeeParty BuyerCustomerParty/Party SellerSupplierParty/Party TaxRepresentativeParty
DespatchAdvice: DespatchSupplierParty/Party > DeliveryCustomerParty/Party | BuyerCustomerParty/Party SellerSupplierParty/Party OriginatorCustomerParty/Party
DigitalAgreement: - | GovernorParty
DigitalCapability: SenderParty > ReceiverParty | BusinessParty
DocumentStatus: SenderParty > ReceiverParty
DocumentStatusRequest: SenderParty > ReceiverParty
Enquiry: RequestorParty > ResponderParty
EnquiryResponse: ResponderParty > RequestorParty
ExceptionCriteria: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
ExceptionNotification: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
ExpressionOfInterestRequest: EconomicOperatorParty/Party > ContractingParty/Party
ExpressionOfInterestResponse: ContractingParty/Party > EconomicOperatorParty/Party
Forecast: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
ForecastRevision: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
ForwardingInstructions: - | ConsignorParty CarrierParty FreightForwarderParty
FreightInvoice: AccountingSupplierParty/Party > AccountingCustomerParty/Party | PayeeParty
FulfilmentCancellation: - | BuyerCustomerParty/Party SellerSupplierParty/Party DeliveryCustomerParty/Party DespatchSupplierParty/Party
GoodsItemItinerary: SenderParty > ReceiverParty
GuaranteeCertificate: - | GuarantorParty InterestedParty BeneficiaryParty
InstructionForReturns: SellerSupplierParty/Party > RetailerCustomerParty/Party | ManufacturerParty
InventoryReport: RetailerCustomerParty/Party > SellerSupplierParty/Party | InventoryReportingParty
Invoice: AccountingSupplierParty/Party > AccountingCustomerParty/Party | PayeeParty BuyerCustomerParty/Party SellerSupplierParty/Party TaxRepresentativeParty
ItemInformationRequest: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
Order: BuyerCustomerParty/Party > SellerSupplierParty/Party | OriginatorCustomerParty/Party FreightForwarderParty AccountingCustomerParty/Party
OrderCancellation: BuyerCustomerParty/Party > SellerSupplierParty/Party | OriginatorCustomerParty/Party
OrderChange: BuyerCustomerParty/Party > SellerSupplierParty/Party | OriginatorCustomerParty/Party AccountingCustomerParty/Party
OrderResponse: SellerSupplierParty/Party > BuyerCustomerParty/Party | OriginatorCustomerParty/Party AccountingSupplierParty/Party
OrderResponseSimple: SellerSupplierParty/Party > BuyerCustomerParty/Party | OriginatorCustomerParty/Party
PackingList: - | ConsignorParty CarrierParty FreightForwarderParty
PriorInformationNotice: ContractingParty/Party > ReceiverParty | OriginatorCustomerParty/Party
ProductActivity: SenderParty > ReceiverParty
QualificationApplicationRequest: ContractingParty/Party > EconomicOperatorParty/Party
QualificationApplicationResponse: EconomicOperatorParty/Party > ContractingParty/Party
Quotation: SellerSupplierParty/Party > OriginatorCustomerParty/Party | BuyerCustomerParty/Party
ReceiptAdvice: DeliveryCustomerParty/Party > DespatchSupplierParty/Party | BuyerCustomerParty/Party SellerSupplierParty/Party
Reminder: AccountingSupplierParty/Party > AccountingCustomerParty/Party | PayeeParty TaxRepresentativeParty
RemittanceAdvice: AccountingCustomerParty/Party > AccountingSupplierParty/Party | PayeeParty
RequestForQuotation: OriginatorCustomerParty/Party > SellerSupplierParty/Party | BuyerCustomerParty/Party
RetailEvent: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
SelfBilledCreditNote: AccountingCustomerParty/Party > AccountingSupplierParty/Party | PayeeParty BuyerCustomerParty/Party SellerSupplierParty/Party
SelfBilledInvoice: AccountingCustomerParty/Party > AccountingSupplierParty/Party | PayeeParty BuyerCustomerParty/Party SellerSupplierParty/Party
Statement: AccountingSupplierParty/Party > AccountingCustomerParty/Party | BuyerCustomerParty/Party SellerSupplierParty/Party PayeeParty
StockAvailabilityReport: SellerSupplierParty/Party > RetailerCustomerParty/Party | InventoryReportingParty
Tender: TendererParty > ContractingParty/Party | SubcontractorParty OriginatorCustomerParty/Party
TenderContract: ContractingParty/Party > ReceiverParty | EconomicOperatorParty/Party
TenderReceipt: SenderParty > ReceiverParty | TenderDocumentReference/IssuerParty
TenderStatus: ContractingParty/Party > EconomicOperatorParty/Party | DocumentProviderParty TenderRecipientParty
TenderStatusRequest: EconomicOperatorParty/Party > ContractingParty/Party
TenderWithdrawal: TendererParty > ContractingParty/Party
TendererQualification: TendererPartyQualification/MainQualifyingParty/Party > ContractingParty/Party | TendererPartyQualification/AdditionalQualifyingParty/Party
TendererQualificationResponse: SenderParty > ReceiverParty
TradeItemLocationProfile: SenderParty > ReceiverParty | BuyerCustomerParty/Party SellerSupplierParty/Party
TransportExecutionPlan: SenderParty > ReceiverParty | TransportUserParty TransportServiceProviderParty BillToParty
TransportExecutionPlanRequest: TransportUserParty > TransportServiceProviderParty | PayeeParty
TransportProgressStatus: SenderParty > ReceiverParty | SourceIssuerParty
TransportProgressStatusRequest: SenderParty > ReceiverParty
TransportServiceDescription: SenderParty > ReceiverParty | TransportServiceProviderParty
TransportServiceDescriptionRequest: SenderParty > ReceiverParty | TransportServiceProviderParty
TransportationStatus: SenderParty > ReceiverParty
TransportationStatusRequest: SenderParty > ReceiverParty
UnawardedNotification: SenderParty > ReceiverParty
UnsubscribeFromProcedureRequest: EconomicOperatorParty/Party > ContractingParty/Party
UnsubscribeFromProcedureResponse: ContractingParty/Party > EconomicOperatorParty/Party
UtilityStatement: SenderParty > ReceiverParty | CustomerParty/Party SubscriberParty
Waybill: - | ConsignorParty CarrierParty FreightForwarderParty
WeightStatement: SenderParty > ReceiverParty | WeighingParty ShipperParty ResponsibleParty
CrossIndustryInvoice: SellerTradeParty > BuyerTradeParty | SalesAgentTradeParty SellerTaxRepresentativeTradeParty ProductEndUserTradeParty
CrossDomainAcknowledgementAndResponse: SenderTradeParty > RecipientTradeParty | IssuerTradeParty
TaxData: ReportingParty > ReceivingParty | ReportersRepresentative ReportedTransaction/ReportedDocument/AccountingSupplierParty/Party
TaxDataStatus: -
EndUserReport: -
EndUserStatisticsReport: -
TransactionStatisticsReport: -
QueryRequest: SenderElectronicAddress > ReceiverElectronicAddress | BuyerElectronicAddress
QueryResponse: SenderElectronicAddress > ReceiverElectronicAddress | BuyerElectronicAddress
SubmitObjectsRequest: SenderElectronicAddress > ReceiverElectronicAddress | BuyerElectronicAddress
"""  # noqa: E501 - a table

NOT_STATED = (  # syntaxes without a place for the specification that a document follows: only an envelope says it
    "urn:iso:std:iso:20022:",
    "urn:fdc:difi.no:2017:payment:extras",
    "urn:fdc:digdir.no:2020:innbyggerpost",
    "http://ns.hr-xml.org/",
    "http://www.ketenstandaard.nl/",
    "urn:kosit:names:spec:peppol-reporting",
    "urn:peppol:doctype:",  # no XML at all: inside an envelope, as text or base64
)
SLIPS = {  # listed, and deprecated because no schema has such an element in that namespace
    f"{UBL}OrderResponse-2::Order",
    f"{UBL}Invoice-2::CreditNote",
}


class Entry(NamedTuple):
    """A document id of the code list, taken apart; `best` is the one to use for this root and customization."""

    id: str
    best: str
    root: str
    customization: str
    done: str
    when: str
    processes: list[str]

    @property
    def namespace(self) -> str:
        return self.root.rpartition("::")[0]

    @property
    def local(self) -> str:
        return self.root.rpartition("::")[2]


class Parties(NamedTuple):
    """The parties of a document type, each a place below the root; no sender where the type doesn't fix one."""

    sender: str
    receiver: str
    others: list[str]


def entries() -> list[Entry]:
    """Every document id that is listed: active, deprecated or removed."""
    path = Path(codelists.__file__).parent / "documents.json"
    listed = json.loads(path.read_text(encoding="utf-8"))["entries"]
    return [
        Entry(
            f"{name}::{version}", f"{name}::{versions[0][0]}", *name.split("##", 1), *_fate(state, removal), processes
        )
        for name, versions in listed.items()
        for version, state, processes, _, removal in versions
    ]


def _fate(state: str, removal: str | None) -> tuple[str, str]:
    """What the list has done with an entry by now, and when."""
    if removal is None:
        return ("" if state == "active" else state), ""
    day = date.fromisoformat(removal)
    return "removed", f" (removed on {day.day} {day:%B %Y})"  # all days of the list are over


def table() -> dict[str, Parties]:
    """PARTIES by document."""
    read_off = {}
    for line in PARTIES.split("\n"):
        document, _, parties = line.partition(": ")
        roles, _, others = parties.partition(" | ")
        sender, _, receiver = roles.replace("-", "").partition(" > ")
        read_off[document] = Parties(sender.strip(), receiver.strip(), others.split())
    return {document: parties for document, parties in read_off.items() if document}


TABLE = table()
STATED = [entry for entry in entries() if not entry.root.startswith(NOT_STATED)]


def below(parent: ET.Element, path: str, namespace: str) -> ET.Element:
    """A new element at a path of local names, all in one namespace."""
    for step in path.split("/"):
        parent = ET.SubElement(parent, f"{{{namespace}}}{step}")
    return parent


def write(root: str, customization: str, process: str, addresses: dict[str, str]) -> bytes:
    """A document of that root element which states no more than its specification, its process and addresses.

    `root` is `namespace::local name`; `addresses` are ParticipantIDs by the places of the parties.
    """
    namespace, _, local = root.rpartition("::")
    document = ET.Element(f"{{{namespace}}}{local}")
    if namespace.startswith("urn:oasis:names:tc:ebxml-regrep:"):
        slots = {"SpecificationIdentification": customization, "BusinessProcessTypeIdentifier": process, **addresses}
        for name, text in slots.items():
            parent = document if "Buyer" not in name else below(document, "RegistryObjectList/RegistryObject", RIM)
            slot = ET.SubElement(parent, f"{{{RIM}}}Slot", name=name)
            below(slot, "SlotValue/Value", RIM).text = text
    elif namespace.startswith(UN):
        context = below(document, "ExchangedDocumentContext", namespace)
        if process:
            below(context, "BusinessProcessSpecifiedDocumentContextParameter/ID", RAM).text = process
        below(context, "GuidelineSpecifiedDocumentContextParameter/ID", RAM).text = customization
        if local == "CrossIndustryInvoice":
            transaction = below(document, "SupplyChainTradeTransaction", namespace)
            parties = below(transaction, "ApplicableHeaderTradeAgreement", RAM)
        else:
            parties = below(document, "ExchangedDocument", namespace)
        for party, address in addresses.items():
            uri = below(parties, f"{party}/URIUniversalCommunication/URIID", RAM)
            uri.attrib["schemeID"], _, uri.text = address.partition(":")
    else:
        tax_data = local == "TaxData"
        basic = namespace if namespace.startswith("urn:fdc:peppol:") and not tax_data else CBC
        below(document, "CustomizationID", basic).text = customization
        if process:
            below(document, "ProfileID", basic).text = process
        for party, address in addresses.items():
            endpoint = below(below(document, party, namespace if tax_data else CAC), "EndpointID", basic)
            endpoint.attrib["schemeID"], _, endpoint.text = address.partition(":")
    return ET.tostring(document, encoding="utf-8", xml_declaration=True)


def addresses(parties: Parties) -> dict[str, str]:
    """An address for each party of a document: for those that aren't sender or receiver somebody else's."""
    roles = {parties.sender: SELLER, parties.receiver: BUYER} if parties.sender else {}
    return {place: f"0192:{number}" for number, place in enumerate(parties.others, 1)} | roles


def identity_of(document: bytes) -> Identity:
    return identify(read(io.BytesIO(document)))


def test_document_id() -> None:
    """A document of any listed type has exactly the document id of the list, in the version to use."""
    for entry in STATED:
        for process in entry.processes:
            identity = identity_of(write(entry.root, entry.customization, process, {}))
            assert (identity.document_id, identity.process_id) == (entry.best, process)
            assert identity.sources == {"document_id": "document", "process_id": "document"}, entry.id


@pytest.mark.parametrize(
    ("root", "customization", "version"),
    [
        (f"{UBL}Catalogue-2::Catalogue", f"urn:fdc:peppol.eu:poacc:trns:punch_out:3:extended:{EHF}", "2.2"),
        ("urn:peppol:schema:vida-taxdata:1.0::TaxData", "urn:peppol:taxdata:vida-1", "1.0"),
        (f"{UN}CrossIndustryInvoice:100::CrossIndustryInvoice", "urn:factur-x.eu:1p0:minimum", "D16B"),
        (f"{UBL}Invoice-2::Invoice", "urn:ours", "2.1"),
        ("urn:peppol:schema:taxdata:1.0::TaxData", "urn:ours", None),
        (f"{UN}CrossDomainAcknowledgementAndResponse:100::CrossDomainAcknowledgementAndResponse", "urn:ours", None),
        ("urn:oasis:names:tc:ebxml-regrep:xsd:query:4.0::QueryRequest", "urn:ours", None),
    ],
)  # fmt: skip
def test_unlisted_document_id(root: str, customization: str, version: str | None) -> None:
    """An unlisted specification has its syntax's usual version; where a syntax has none, no document id is made up."""
    identity = identity_of(write(root, customization, "urn:ours", {}))
    assert identity.document_id == (version and f"{root}##{customization}::{version}")


def test_only_process() -> None:
    """A process that isn't stated is the list's only one for that document; of several none is picked."""
    for entry in STATED:
        if entry.id == entry.best:
            identity = identity_of(write(entry.root, entry.customization, "", {}))
            only = (entry.processes[0], "code list") if len(entry.processes) == 1 else (None, None)
            assert (identity.process_id, identity.sources.get("process_id")) == only, entry.id


def test_roles() -> None:
    """Who sends and who receives each listed document, among all its parties that have an address."""
    for entry in STATED:
        if entry.root not in SLIPS:
            parties = TABLE.get(entry.local, Parties("", "", []))
            identity = identity_of(write(entry.root, entry.customization, entry.processes[0], addresses(parties)))
            sent = (SELLER, BUYER) if parties.sender else (None, None)
            expected = sent[::-1] if entry.processes[0] in SELF_BILLING else sent
            assert (identity.sender, identity.receiver) == expected, entry.id


@pytest.mark.parametrize("document", TABLE)
def test_roles_unlisted(document: str) -> None:
    """Who sends is a matter of the document type, not of the specification that a document follows."""
    roots = {entry.local: entry.root for entry in entries() if entry.root not in SLIPS}
    root = roots.get(document, f"{UBL}{document}-2::{document}")
    identity = identity_of(write(root, "urn:ours", "urn:ours", addresses(TABLE[document])))
    assert (identity.sender, identity.receiver) == ((SELLER, BUYER) if TABLE[document].sender else (None, None))


def test_envelope() -> None:
    """An envelope's document id and process are taken as they stand, whatever is inside; old ones are told of.

    So is an id of another type than the document inside.
    """
    for entry in entries():
        inside = f'<?xml version="1.0"?><Content xmlns="{entry.namespace or "urn:x"}">QUJD</Content>'.encode()
        identity = identity_of(envelope(inside, document_id=entry.id, process_id=entry.processes[0]))
        assert (identity.document_id, identity.process_id) == (entry.id, entry.processes[0])
        assert (identity.sender, identity.receiver) == (SELLER, BUYER)
        assert set(identity.sources.values()) == {"envelope"}
        told = [warning for warning in identity.warnings if warning.startswith("document_id: ")]
        if entry.id.startswith(f"{entry.root}##") and "::" in entry.root:
            assert told.pop(0) == f"document_id: it is an id for {entry.local}, but the document is Content"
        old = f"document_id: the Peppol code list has {entry.done} this document type{entry.when}"
        assert told == ([old] if entry.done else []), entry.id


@pytest.mark.parametrize("code", ["261", "389", "471", "473", "500", "501", "502", "527"])
@pytest.mark.parametrize("document", ["Invoice", "CreditNote", "CrossIndustryInvoice"])
def test_self_billed(document: str, code: str) -> None:
    """A document that its type code (UNTDID 1001) calls self-billed goes from the customer to the supplier."""
    cii = document == "CrossIndustryInvoice"
    root = f"{UN}{document}:100::{document}" if cii else f"{UBL}{document}-2::{document}"
    tree = ET.fromstring(write(root, "urn:ours", "urn:ours", addresses(TABLE[document])))  # noqa: S314 - our own
    place = below(below(tree, "ExchangedDocument", f"{UN}{document}:100"), "TypeCode", RAM) if cii else None
    place = below(tree, f"{document}TypeCode", CBC) if place is None else place
    for text, expected in ((f"\n {code} ", (BUYER, SELLER)), ("380", (SELLER, BUYER))):
        place.text = text
        identity = identity_of(ET.tostring(tree))
        assert (identity.sender, identity.receiver) == expected


def test_the_table_is_whole() -> None:
    """Each listed document that states what it is has its line in the table above."""
    no_schema = {"VirtualCompanyDossier", "VirtualCompanyDossierPackage", "CatalogueTemplate", "Qualification"}
    assert {entry.local for entry in STATED} - set(TABLE) == no_schema
