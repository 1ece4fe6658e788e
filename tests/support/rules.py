"""Folders with rules: the network's own, where they are at hand, and some of the tests' own writing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.corpus import RULES
from support.documents import BILLING

if TYPE_CHECKING:
    from pathlib import Path

CEN, PEPPOL, SELF = "CEN-EN16931-UBL.xslt", "PEPPOL-EN16931-UBL.xslt", "PEPPOL-EN16931-UBL-SB.xslt"
BIS = "urn:fdc:peppol.eu:poacc:trns:"
PUBLISHED_FOR = [  # root elements, CustomizationID, files
    ("[Invoice, CreditNote]", BILLING, [CEN, PEPPOL]),
    ("[Invoice, CreditNote]", BILLING.replace(":billing:", ":selfbilling:"), [CEN, SELF]),  # PEPPOL: billing alone
    ("[Invoice, CreditNote]", "urn:cen.eu:en16931:2017*", [CEN]),
    ("Order", f"{BIS}order:3", ["PEPPOLBIS-T01.xslt"]),
    ("OrderResponse", f"{BIS}order_response:3", ["PEPPOLBIS-T76.xslt"]),
    ("DespatchAdvice", f"{BIS}despatch_advice:3", ["PEPPOLBIS-T16.xslt"]),
    ("Catalogue", f"{BIS}catalogue:3", ["PEPPOLBIS-T19.xslt"]),
    ("ApplicationResponse", f"{BIS}catalogue_response:3", ["PEPPOLBIS-T58.xslt"]),
    ("ApplicationResponse", f"{BIS}mlr:3", ["PEPPOLBIS-T71.xslt"]),
    ("Catalogue", f"{BIS}punch_out:3", ["PEPPOLBIS-T77.xslt"]),
    ("OrderResponse", f"{BIS}order_agreement:3", ["PEPPOLBIS-T110.xslt"]),
    ("ApplicationResponse", f"{BIS}invoice_response:3", ["PEPPOLBIS-T111.xslt"]),
    ("OrderChange", f"{BIS}order_change:3", ["PEPPOLBIS-T114.xslt"]),
    ("OrderCancellation", f"{BIS}order_cancellation:3", ["PEPPOLBIS-T115.xslt"]),
    ("OrderResponse", f"{BIS}order_response_advanced:3", ["PEPPOLBIS-T116.xslt"]),
]

# What a compiled Schematron does, in a few lines. A note says what is wrong with a document: each word is a rule.
OWN = r"""<xsl:stylesheet version="2.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:own="urn:own"
    xmlns:svrl="http://purl.oclc.org/dsdl/svrl" xmlns:xs="http://www.w3.org/2001/XMLSchema"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <xsl:function name="own:for-ever" as="xs:integer">
    <xsl:param name="n" as="xs:integer"/>
    <xsl:sequence select="if ($n lt 0) then 0 else own:for-ever(($n + 1) mod 7)"/>
  </xsl:function>
  <xsl:template match="/">
    <svrl:schematron-output>
      <xsl:for-each select="/*/cbc:Note">
        <xsl:variable name="place">/*:<xsl:value-of select="local-name(..)"/>[namespace-uri()='<xsl:value-of
          select="namespace-uri(..)"/>'][1]/*:Note[namespace-uri()='<xsl:value-of
          select="namespace-uri()"/>'][<xsl:number/>]</xsl:variable>
        <xsl:if test="contains(., 'broken')">
          <svrl:failed-assert id="OWN-1" flag="fatal" location="{$place}">
            <svrl:text>[OWN-1]-A note must not say that it is broken.</svrl:text>
          </svrl:failed-assert>
        </xsl:if>
        <xsl:if test="contains(., 'odd')">
          <svrl:failed-assert id="OWN-2" flag="warning" location="{$place}">
            <svrl:text>[OWN-2]-A note should not say that it is odd.</svrl:text>
          </svrl:failed-assert>
        </xsl:if>
        <xsl:if test="matches(., '^\d')">
          <xsl:value-of select="xs:integer(.)"/>
        </xsl:if>
        <xsl:if test="contains(., 'missing')">
          <xsl:value-of select="doc('missing.xml')"/>
        </xsl:if>
        <xsl:if test="contains(., 'endless')">
          <xsl:value-of select="own:for-ever(1)"/>
        </xsl:if>
        <xsl:if test="contains(., 'huge')">
          <xsl:variable name="all" select="for $n in 1 to 100000000 return concat('a longer text for each ', $n)"/>
          <xsl:value-of select="count(distinct-values($all)), $all[last()]"/>
        </xsl:if>
      </xsl:for-each>
    </svrl:schematron-output>
  </xsl:template>
</xsl:stylesheet>
"""
OWN_SCHEMA = """\
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:thing" elementFormDefault="qualified">
  <xs:element name="Thing">
    <xs:complexType><xs:sequence><xs:element name="Count" type="xs:integer"/></xs:sequence></xs:complexType>
  </xs:element>
</xs:schema>
"""
OWN_LIST = """\
released: 2026-05-18
documents:
  - {document: [Invoice, CreditNote], rules: [own.xslt]}
  - {document: Thing, rules: own.xsd}
"""


def published_rules(folder: Path) -> Path:
    """A folder with the network's own rules."""
    folder.mkdir()
    for file in RULES.glob("*.xslt"):
        (folder / file.name).symlink_to(file)
    sets = [
        f'  - {{document: {roots}, customization: "{customization}", rules: [{", ".join(files)}]}}\n'
        for roots, customization, files in PUBLISHED_FOR
    ]
    (folder / "rules.yaml").write_text(f"released: 2026-05-18\ndocuments:\n{''.join(sets)}")
    return folder


def own_rules(folder: Path) -> Path:
    """A folder with rules of the tests' own writing: what is `broken` in a note breaks OWN-1, `odd` only warns."""
    folder.mkdir()
    (folder / "own.xslt").write_text(OWN)
    (folder / "own.xsd").write_text(OWN_SCHEMA)
    (folder / "rules.yaml").write_text(OWN_LIST)
    return folder
