<?xml version="1.0" encoding="UTF-8"?>
<!-- The lines of a UBL document. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">

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
    <xsl:apply-templates select="cac:LineItem[1]" mode="row"><xsl:with-param name="above" select="."/></xsl:apply-templates>
    <xsl:apply-templates select="cac:SellerSubstitutedLineItem" mode="row">
      <xsl:with-param name="depth" select="1"/>
      <xsl:with-param name="replaces" select="substring(cac:LineItem/cbc:ID, 1, 100)"/>
    </xsl:apply-templates>
  </xsl:template>

  <!-- A line, and what is below it, each a step further in. `above` is an order's line around it. -->
  <xsl:template match="*" mode="row">
    <xsl:param name="depth" select="0"/>
    <xsl:param name="replaces"/>
    <xsl:param name="above" select="/.."/>
    <row>
      <cell><xsl:copy-of select="cbc:ID"/></cell>
      <cell depth="{$depth}">
        <xsl:copy-of select="cac:Item/cbc:Name"/>
        <detail key="replaces_line"><xsl:value-of select="$replaces"/></detail>
        <xsl:apply-templates select="cac:Item" mode="details"/>
        <xsl:apply-templates select=". | $above" mode="references"/>
        <xsl:for-each select="cac:Delivery">
          <xsl:apply-templates select="." mode="details"/>
        </xsl:for-each>
        <xsl:for-each select="cac:OriginatorParty">
          <detail key="originator">
            <xsl:copy-of select="cac:PartyLegalEntity/cbc:RegistrationName | cac:PartyName/cbc:Name"/>
            <xsl:copy-of select="cac:PartyIdentification/cbc:ID"/>
          </detail>
        </xsl:for-each>
        <detail key="partial_delivery"><xsl:copy-of select="cbc:PartialDeliveryIndicator"/></detail>
        <detail key="free_of_charge"><xsl:copy-of select="cbc:FreeOfChargeIndicator"/></detail>
        <detail key="backorder_allowed"><xsl:copy-of select="cbc:BackOrderAllowedIndicator"/></detail>
        <xsl:for-each select="cbc:OutstandingReason"><detail key="outstanding_reason"><xsl:copy-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="cac:InvoicePeriod"><detail key="period"><xsl:call-template name="period"/></detail></xsl:for-each>
        <xsl:apply-templates select="cac:AllowanceCharge" mode="details"/>
        <detail key="accounting_cost"><xsl:copy-of select="cbc:AccountingCost | cbc:AccountingCostCode"/></detail>
        <xsl:apply-templates select="cac:Shipment" mode="details"/>
        <xsl:for-each select="cbc:Note | $above/cbc:Note"><detail key="note"><xsl:copy-of select="."/></detail></xsl:for-each>
        <detail key="uuid"><xsl:copy-of select="cbc:UUID"/></detail>
      </cell>
      <cell list="line_status"><xsl:copy-of select="cbc:LineStatusCode"/></cell>
      <cell>
        <xsl:copy-of select="cbc:InvoicedQuantity | cbc:CreditedQuantity | cbc:Quantity | cbc:DeliveredQuantity"/>
        <detail key="backorder"><xsl:copy-of select="cbc:MaximumBackorderQuantity | cbc:BackorderQuantity"/></detail>
        <detail key="smallest_quantity"><xsl:copy-of select="cbc:MinimumQuantity"/></detail>
      </cell>
      <cell><xsl:copy-of select="cbc:OutstandingQuantity"/></cell>
      <cell>
        <xsl:copy-of select="cac:Price/cbc:PriceAmount"/>
        <xsl:for-each select="cac:Price/cbc:BaseQuantity">
          <xsl:choose>
            <xsl:when test="number(.) = 1"><shown><xsl:copy-of select="."/></shown></xsl:when>
            <xsl:otherwise><detail key="per"><xsl:copy-of select="."/></detail></xsl:otherwise>
          </xsl:choose>
        </xsl:for-each>
        <detail key="type"><xsl:copy-of select="cac:Price/cbc:PriceType | cac:Price/cbc:PriceTypeCode"/></detail>
        <xsl:for-each select="cac:Price/cac:AllowanceCharge">
          <xsl:choose>
            <xsl:when test="cbc:ChargeIndicator = 'true' or cbc:ChargeIndicator = '1'">
              <detail key="price_before_charge"><xsl:copy-of select="cbc:BaseAmount"/></detail>
            </xsl:when>
            <xsl:otherwise><detail key="gross_price"><xsl:copy-of select="cbc:BaseAmount"/></detail></xsl:otherwise>
          </xsl:choose>
          <xsl:apply-templates select="." mode="short"/>
        </xsl:for-each>
      </cell>
      <cell>
        <xsl:copy-of select="cac:Item/cac:ClassifiedTaxCategory/cbc:Percent"/>
        <xsl:for-each select="cac:Item/cac:ClassifiedTaxCategory | cac:TaxTotal/cac:TaxSubtotal/cac:TaxCategory">
          <detail list="tax_category"><xsl:call-template name="category"/></detail>
          <xsl:if test="parent::cac:TaxSubtotal"><detail><xsl:copy-of select="cbc:Percent"/></detail></xsl:if>
        </xsl:for-each>
      </cell>
      <cell>
        <xsl:copy-of select="cbc:LineExtensionAmount"/>
        <detail key="tax_total"><xsl:copy-of select="cac:TaxTotal/cbc:TaxAmount | cbc:TotalTaxAmount"/></detail>
        <xsl:for-each select="cac:TaxTotal/cac:TaxSubtotal">
          <detail key="taxable_amount"><xsl:copy-of select="cbc:TaxableAmount"/></detail>
          <detail key="tax_amount"><xsl:copy-of select="cbc:TaxAmount"/></detail>
        </xsl:for-each>
        <detail key="total_with_tax"><xsl:copy-of select="cac:ItemPriceExtension/cbc:Amount | cbc:TaxInclusiveLineExtensionAmount"/></detail>
      </cell>
    </row>
    <xsl:apply-templates select="*[self::cac:SubInvoiceLine or self::cac:SubCreditNoteLine or self::cac:SubLineItem]" mode="row">
      <xsl:with-param name="depth" select="$depth + 1"/>
    </xsl:apply-templates>
  </xsl:template>

  <!-- What a line refers to. -->
  <xsl:template match="*" mode="references">
    <xsl:for-each select="cac:OrderLineReference">
      <detail key="order"><xsl:copy-of select="cac:OrderReference/*[self::cbc:ID or self::cbc:IssueDate]"/></detail>
      <detail key="sales_order"><xsl:copy-of select="cac:OrderReference/cbc:SalesOrderID"/></detail>
      <detail key="order_line"><xsl:copy-of select="cbc:LineID"/></detail>
      <detail key="sales_order_line"><xsl:copy-of select="cbc:SalesOrderLineID"/></detail>
    </xsl:for-each>
    <detail key="sales_order"><xsl:copy-of select="cbc:SalesOrderID"/></detail>
    <xsl:for-each select="cac:QuotationLineReference">
      <detail key="quotation"><xsl:copy-of select="cac:DocumentReference/cbc:ID"/><xsl:copy-of select="cbc:LineID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:CatalogueLineReference">
      <detail key="catalogue"><xsl:copy-of select="cac:DocumentReference/cbc:ID"/><xsl:copy-of select="cbc:LineID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:DespatchLineReference">
      <detail key="despatch_advice"><xsl:copy-of select="cac:DocumentReference/cbc:ID"/><xsl:copy-of select="cbc:LineID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:ReceiptLineReference">
      <detail key="receipt_advice"><xsl:copy-of select="cac:DocumentReference/cbc:ID"/><xsl:copy-of select="cbc:LineID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:BillingReference/*[self::cac:InvoiceDocumentReference or self::cac:CreditNoteDocumentReference]">
      <detail key="preceding_invoice"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></detail>
    </xsl:for-each>
    <detail key="preceding_line"><xsl:copy-of select="cac:BillingReference/cac:BillingReferenceLine/cbc:ID"/></detail>
    <xsl:for-each select="cac:DocumentReference">
      <xsl:choose>
        <xsl:when test="cbc:DocumentTypeCode = 130">
          <detail key="invoiced_object" scheme="yes">
            <xsl:copy-of select="cbc:ID"/><shown><xsl:copy-of select="cbc:DocumentTypeCode"/></shown>
          </detail>
        </xsl:when>
        <xsl:otherwise>
          <detail key="document" scheme="yes">
            <xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:DocumentType | cbc:DocumentTypeCode | cbc:IssueDate"/>
          </detail>
        </xsl:otherwise>
      </xsl:choose>
    </xsl:for-each>
  </xsl:template>

  <!-- When and where a line is delivered. -->
  <xsl:template match="cac:Delivery" mode="details">
    <detail key="delivery_id"><xsl:copy-of select="cbc:ID"/></detail>
    <detail key="quantity"><xsl:copy-of select="cbc:Quantity"/></detail>
    <detail key="delivery_date"><xsl:copy-of select="cbc:ActualDeliveryDate"/><xsl:copy-of select="cbc:ActualDeliveryTime"/></detail>
    <xsl:for-each select="cac:RequestedDeliveryPeriod | cac:PromisedDeliveryPeriod | cac:EstimatedDeliveryPeriod">
      <detail key="{local-name()}"><xsl:call-template name="period"/></detail>
    </xsl:for-each>
    <detail key="Delivery">
      <xsl:copy-of select="cac:DeliveryParty/cac:PartyName/cbc:Name"/>
      <xsl:copy-of select="cac:DeliveryParty/cac:PartyIdentification/cbc:ID"/>
      <xsl:copy-of select="cac:DeliveryLocation/*[self::cbc:ID or self::cbc:Name]"/>
      <xsl:apply-templates select="cac:DeliveryLocation/cac:Address | cac:DeliveryAddress" mode="in-one-line"/>
    </detail>
    <detail key="tracking"><xsl:copy-of select="cbc:TrackingID"/></detail>
  </xsl:template>

  <xsl:template match="cac:Item" mode="details">
    <xsl:variable name="name" select="substring(cbc:Name, 1, 500)"/>
    <xsl:for-each select="cbc:Description">
      <xsl:choose>
        <xsl:when test=". = $name"><shown><xsl:copy-of select="."/></shown></xsl:when>
        <xsl:otherwise><detail><xsl:copy-of select="."/></detail></xsl:otherwise>
      </xsl:choose>
    </xsl:for-each>
    <detail><xsl:copy-of select="cbc:AdditionalInformation"/></detail>
    <xsl:for-each select="cac:SellersItemIdentification">
      <detail key="sellers_item"><xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:ExtendedID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:BuyersItemIdentification">
      <detail key="buyers_item"><xsl:copy-of select="cbc:ID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:ManufacturersItemIdentification">
      <detail key="manufacturers_item"><xsl:copy-of select="cbc:ID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:StandardItemIdentification">
      <detail key="standard_item"><xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:ExtendedID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:CatalogueItemIdentification">
      <detail key="catalogue"><xsl:copy-of select="cbc:ID"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:CommodityClassification/*">
      <detail key="classification" scheme="yes"><xsl:copy-of select="."/></detail>
    </xsl:for-each>
    <detail key="origin"><xsl:copy-of select="cac:OriginCountry/cbc:Name | cac:OriginCountry/cbc:IdentificationCode"/></detail>
    <detail key="brand"><xsl:copy-of select="cbc:BrandName"/><xsl:copy-of select="cbc:ModelName"/></detail>
    <detail key="package"><xsl:copy-of select="cbc:PackQuantity"/><xsl:copy-of select="cbc:PackSizeNumeric"/></detail>
    <xsl:apply-templates select="cac:AdditionalItemProperty" mode="details"/>
    <xsl:for-each select="cac:Dimension">
      <detail><xsl:call-template name="measure"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:ItemInstance">
      <xsl:for-each select="cac:LotIdentification">
        <detail key="lot"><xsl:copy-of select="cbc:LotNumberID"/></detail>
        <detail key="expires"><xsl:copy-of select="cbc:ExpiryDate"/></detail>
      </xsl:for-each>
      <detail key="best_before"><xsl:copy-of select="cbc:BestBeforeDate"/></detail>
      <detail key="manufactured"><xsl:copy-of select="cbc:ManufactureDate"/><xsl:copy-of select="cbc:ManufactureTime"/></detail>
      <detail key="serial"><xsl:copy-of select="cbc:SerialID"/></detail>
      <detail key="trace"><xsl:copy-of select="cbc:ProductTraceID"/></detail>
      <xsl:apply-templates select="cac:AdditionalItemProperty" mode="details"/>
    </xsl:for-each>
    <xsl:for-each select="cac:HazardousItem">
      <detail key="hazard">
        <xsl:copy-of select="cbc:UNDGCode | cbc:HazardClassID | cbc:TechnicalName | cbc:CategoryName | cbc:AdditionalInformation"/>
      </detail>
    </xsl:for-each>
    <xsl:for-each select="cac:ItemSpecificationDocumentReference">
      <detail key="specification_of_item"><xsl:copy-of select="cbc:ID | cbc:DocumentTypeCode | cbc:DocumentType"/></detail>
    </xsl:for-each>
    <xsl:for-each select="cac:Certificate">
      <detail key="certificate">
        <xsl:copy-of select="cbc:CertificateType | cbc:CertificateTypeCode"/><xsl:copy-of select="cbc:ID"/>
        <xsl:copy-of select="cac:IssuerParty/cac:PartyName/cbc:Name"/><xsl:copy-of select="cac:DocumentReference/cbc:ID"/>
        <xsl:copy-of select="cbc:Remarks"/>
      </detail>
    </xsl:for-each>
    <detail key="conditions"><xsl:copy-of select="cac:TransactionConditions/*[self::cbc:ActionCode or self::cbc:Description]"/></detail>
    <detail key="manufacturer"><xsl:copy-of select="cac:ManufacturerParty/cac:PartyName/cbc:Name"/></detail>
  </xsl:template>

  <xsl:template match="cac:AdditionalItemProperty" mode="details">
    <detail>
      <label><xsl:copy-of select="cbc:Name"/></label>
      <xsl:copy-of select="cbc:Value"/><xsl:copy-of select="cbc:ValueQuantity"/><xsl:copy-of select="cbc:ValueQualifier"/>
      <xsl:if test="cbc:ID or cbc:NameCode">(<xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:NameCode"/>)</xsl:if>
    </detail>
  </xsl:template>

  <!-- A size, a weight or a temperature, by a code of UNTDID 6313. -->
  <xsl:template name="measure">
    <label list="measure"><xsl:copy-of select="cbc:AttributeID"/></label>
    <xsl:copy-of select="cbc:Measure"/><xsl:copy-of select="cbc:MinimumMeasure"/><xsl:copy-of select="cbc:MaximumMeasure"/>
    <xsl:copy-of select="cbc:Description"/>
  </xsl:template>
</xsl:stylesheet>
