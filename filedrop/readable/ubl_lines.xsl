<?xml version="1.0" encoding="UTF-8"?>
<!-- The lines of a UBL document. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
    exclude-result-prefixes="cac cbc">

  <xsl:template name="lines">
    <xsl:variable name="lines" select="*[self::cac:InvoiceLine or self::cac:CreditNoteLine
        or self::cac:OrderLine or self::cac:DespatchLine]"/>
    <table key="lines">
      <column key="line"/><column key="item"/><column key="line_status"/><column key="quantity" number="yes"/>
      <column key="outstanding" number="yes"/><column key="price" number="yes"/><column key="tax_rate" number="yes"/>
      <column key="amount" number="yes"/>
      <xsl:apply-templates select="$lines" mode="row"/>
    </table>
  </xsl:template>

  <xsl:template match="cac:OrderLine" mode="row">
    <xsl:apply-templates select="cac:LineItem[1]" mode="row"><xsl:with-param name="notes" select="cbc:Note"/></xsl:apply-templates>
    <xsl:apply-templates select="cac:SellerSubstitutedLineItem" mode="row">
      <xsl:with-param name="depth" select="1"/>
      <xsl:with-param name="replaces" select="substring(cac:LineItem/cbc:ID, 1, 100)"/>
    </xsl:apply-templates>
  </xsl:template>

  <!-- A line, and what is below it, each a step further in. -->
  <xsl:template match="*" mode="row">
    <xsl:param name="depth" select="0"/>
    <xsl:param name="replaces"/>
    <xsl:param name="notes" select="/.."/>
    <xsl:variable name="name" select="string(cac:Item/cbc:Name)"/>
    <xsl:variable name="quantity" select="cbc:InvoicedQuantity | cbc:CreditedQuantity | cbc:Quantity | cbc:DeliveredQuantity"/>
    <row>
      <cell><xsl:value-of select="cbc:ID"/></cell>
      <cell depth="{$depth}">
        <xsl:value-of select="$name"/>
        <detail key="replaces_line"><xsl:value-of select="$replaces"/></detail>
        <xsl:for-each select="cac:Item/cbc:Description[not(. = $name)]"><detail><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="cac:Item/cac:SellersItemIdentification/cbc:ID">
          <detail key="sellers_item"><xsl:value-of select="."/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:Item/cac:BuyersItemIdentification/cbc:ID">
          <detail key="buyers_item"><xsl:value-of select="."/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:Item/cac:StandardItemIdentification/cbc:ID">
          <detail key="standard_item"><xsl:value-of select="."/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:Item/cac:AdditionalItemProperty">
          <detail><xsl:value-of select="concat(cbc:Name, ': ', cbc:Value)"/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:Item/cac:ItemInstance/cac:LotIdentification/cbc:LotNumberID">
          <detail key="lot"><xsl:value-of select="."/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:OrderLineReference">
          <detail key="order"><xsl:value-of select="cac:OrderReference/cbc:ID"/></detail>
          <detail key="order_line"><xsl:value-of select="cbc:LineID"/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:DocumentReference[cbc:DocumentTypeCode = 130]">
          <detail key="invoiced_object"><xsl:apply-templates select="cbc:ID" mode="with-scheme"/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:DocumentReference[not(cbc:DocumentTypeCode = 130)]">
          <detail key="document"><xsl:apply-templates select="cbc:ID" mode="with-scheme"/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:Delivery/*[self::cac:RequestedDeliveryPeriod or self::cac:PromisedDeliveryPeriod]">
          <detail key="{local-name()}"><xsl:call-template name="period"/></detail>
        </xsl:for-each>
        <xsl:for-each select="cbc:OutstandingReason"><detail key="outstanding_reason"><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="cac:InvoicePeriod"><detail key="period"><xsl:call-template name="period"/></detail></xsl:for-each>
        <xsl:for-each select="cac:AllowanceCharge">
          <detail amount="{cbc:Amount}">
            <xsl:attribute name="key"><xsl:apply-templates select="cbc:ChargeIndicator" mode="boolean"/></xsl:attribute>
            <xsl:apply-templates select="." mode="reason"/>
          </detail>
          <detail key="base_amount" number="yes"><xsl:value-of select="cbc:BaseAmount"/></detail>
          <detail key="percent" percent="yes"><xsl:value-of select="cbc:MultiplierFactorNumeric[$has_percentages]"/></detail>
        </xsl:for-each>
        <xsl:for-each select="cbc:AccountingCost"><detail key="accounting_cost"><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="cbc:Note | $notes"><detail key="note"><xsl:value-of select="."/></detail></xsl:for-each>
      </cell>
      <cell list="line_status"><xsl:value-of select="cbc:LineStatusCode"/></cell>
      <cell number="yes" unit="{$quantity/@unitCode}"><xsl:value-of select="$quantity"/>
        <detail key="backorder" unit="{cbc:MaximumBackorderQuantity/@unitCode}"><xsl:value-of select="cbc:MaximumBackorderQuantity"/></detail>
      </cell>
      <cell number="yes" unit="{cbc:OutstandingQuantity/@unitCode}"><xsl:value-of select="cbc:OutstandingQuantity"/></cell>
      <cell number="yes">
        <xsl:value-of select="cac:Price/cbc:PriceAmount"/>
        <xsl:for-each select="cac:Price/cbc:BaseQuantity[number(.) != 1]">
          <detail key="per" unit="{@unitCode}"><xsl:value-of select="."/></detail>
        </xsl:for-each>
        <xsl:for-each select="cac:Price/cac:AllowanceCharge">
          <detail key="gross_price" number="yes"><xsl:value-of select="cbc:BaseAmount"/></detail>
          <detail number="yes">
            <xsl:attribute name="key"><xsl:apply-templates select="cbc:ChargeIndicator" mode="boolean"/></xsl:attribute>
            <xsl:value-of select="cbc:Amount"/>
          </detail>
        </xsl:for-each>
      </cell>
      <cell number="yes" percent="yes"><xsl:value-of select="cac:Item/cac:ClassifiedTaxCategory/cbc:Percent"/></cell>
      <cell number="yes"><xsl:value-of select="cbc:LineExtensionAmount"/></cell>
    </row>
    <xsl:apply-templates select="*[self::cac:SubInvoiceLine or self::cac:SubCreditNoteLine or self::cac:SubLineItem]" mode="row">
      <xsl:with-param name="depth" select="$depth + 1"/>
    </xsl:apply-templates>
  </xsl:template>
</xsl:stylesheet>
