<?xml version="1.0" encoding="UTF-8"?>
<!-- A UBL 2 document as a sheet (see common.xsl). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">
  <xsl:include href="common.xsl"/>
  <xsl:include href="ubl_parties.xsl"/>
  <xsl:include href="ubl_lines.xsl"/>
  <xsl:include href="ubl_amounts.xsl"/>
  <xsl:include href="ubl_shipment.xsl"/>
  <xsl:include href="ubl_response.xsl"/>

  <xsl:template match="/*">
    <sheet currency="{substring(normalize-space(cbc:DocumentCurrencyCode), 1, 20)}">
      <xsl:attribute name="kind">
        <xsl:choose>
          <xsl:when test="cbc:InvoiceTypeCode and contains($credit_notes,
              concat(' ', normalize-space(cbc:InvoiceTypeCode), ' '))">CreditNote</xsl:when>
          <xsl:otherwise><xsl:value-of select="local-name()"/></xsl:otherwise>
        </xsl:choose>
      </xsl:attribute>
      <number><xsl:copy-of select="cbc:ID[1]"/></number>
      <xsl:call-template name="headline"/>
      <notices>
        <xsl:if test="cbc:CopyIndicator[normalize-space() = 'true' or normalize-space() = '1']"><p key="is_copy"/></xsl:if>
      </notices>
      <head>
        <fact key="payable" strong="yes">
          <xsl:copy-of select="(cac:LegalMonetaryTotal | cac:AnticipatedMonetaryTotal)[1]/cbc:PayableAmount"/>
        </fact>
        <xsl:choose>
          <xsl:when test="cbc:DueDate"><fact key="due_date"><xsl:copy-of select="cbc:DueDate"/></fact></xsl:when>
          <xsl:otherwise><fact key="due_date"><xsl:copy-of select="cac:PaymentMeans[cbc:PaymentDueDate][1]/cbc:PaymentDueDate"/></fact></xsl:otherwise>
        </xsl:choose>
        <fact key="account"><xsl:copy-of select="cac:PaymentMeans[cac:PayeeFinancialAccount][1]/cac:PayeeFinancialAccount/cbc:ID"/></fact>
      </head>
      <xsl:apply-templates select="cac:DocumentResponse"/>
      <facts><xsl:call-template name="facts"/></facts>
      <xsl:call-template name="parties"/>
      <xsl:apply-templates select="cac:Shipment"/>
      <xsl:call-template name="lines"/>
      <xsl:call-template name="allowances"/>
      <xsl:call-template name="taxes"/>
      <xsl:call-template name="prepayments"/>
      <xsl:apply-templates select="(cac:LegalMonetaryTotal | cac:AnticipatedMonetaryTotal)[1]"/>
      <xsl:call-template name="payment"/>
      <texts key="notes"><xsl:for-each select="cbc:Note"><p><xsl:copy-of select="."/></p></xsl:for-each></texts>
      <xsl:call-template name="attachments"/>
      <section key="format">
        <fact key="specification"><xsl:copy-of select="cbc:CustomizationID"/></fact>
        <fact key="process" list="process"><xsl:copy-of select="cbc:ProfileID | cbc:ProfileExecutionID"/></fact>
        <fact key="version"><xsl:copy-of select="cbc:UBLVersionID"/></fact>
        <fact key="uuid"><xsl:copy-of select="cbc:UUID"/></fact>
      </section>
    </sheet>
  </xsl:template>

  <xsl:template name="facts">
    <fact key="type" list="document_type">
      <xsl:copy-of select="cbc:InvoiceTypeCode | cbc:CreditNoteTypeCode | cbc:OrderTypeCode | cbc:DespatchAdviceTypeCode"/>
    </fact>
    <fact key="order_response" list="response"><xsl:copy-of select="cbc:OrderResponseCode"/></fact>
    <fact key="copy"><xsl:copy-of select="cbc:CopyIndicator"/></fact>
    <fact key="status"><xsl:copy-of select="cbc:DocumentStatusCode"/></fact>
    <fact key="issue_date"><xsl:copy-of select="cbc:IssueDate"/><xsl:copy-of select="cbc:IssueTime"/></fact>
    <fact key="tax_point_date"><xsl:copy-of select="cbc:TaxPointDate"/></fact>
    <xsl:for-each select="cac:InvoicePeriod">
      <fact key="period"><xsl:call-template name="period"/><xsl:copy-of select="cbc:Description"/></fact>
      <fact key="tax_point_code" list="tax_point"><xsl:copy-of select="cbc:DescriptionCode"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:ValidityPeriod">
      <fact key="valid_until">
        <xsl:if test="cbc:StartDate"><xsl:copy-of select="cbc:StartDate"/>–</xsl:if><xsl:copy-of select="cbc:EndDate"/>
      </fact>
    </xsl:for-each>
    <fact key="currency"><xsl:copy-of select="cbc:DocumentCurrencyCode"/></fact>
    <fact key="tax_currency"><xsl:copy-of select="cbc:TaxCurrencyCode"/></fact>
    <fact key="pricing_currency"><xsl:copy-of select="cbc:PricingCurrencyCode"/></fact>
    <fact key="payment_currency"><xsl:copy-of select="cbc:PaymentCurrencyCode | cbc:PaymentAlternativeCurrencyCode"/></fact>
    <xsl:for-each select="cac:TaxExchangeRate | cac:PricingExchangeRate | cac:PaymentExchangeRate | cac:PaymentAlternativeExchangeRate">
      <fact key="exchange_rate">
        <xsl:copy-of select="cbc:SourceCurrencyCode"/>→<xsl:copy-of select="cbc:TargetCurrencyCode"/>
        <xsl:text> </xsl:text>
        <xsl:copy-of select="cbc:MathematicOperatorCode"/><xsl:copy-of select="cbc:CalculationRate"/><xsl:copy-of select="cbc:Date"/>
      </fact>
    </xsl:for-each>
    <fact key="buyer_reference"><xsl:copy-of select="cbc:BuyerReference | cbc:CustomerReference"/></fact>
    <xsl:for-each select="cac:OrderReference">
      <fact key="order"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></fact>
      <fact key="buyer_reference"><xsl:copy-of select="cbc:CustomerReference"/></fact>
      <fact key="sales_order"><xsl:copy-of select="cbc:SalesOrderID"/></fact>
    </xsl:for-each>
    <fact key="sales_order"><xsl:copy-of select="cbc:SalesOrderID"/></fact>
    <xsl:for-each select="cac:OrderDocumentReference">
      <fact key="replaced_order"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></fact>
    </xsl:for-each>
    <fact key="order_change"><xsl:copy-of select="cac:OrderChangeDocumentReference/cbc:ID"/></fact>
    <fact key="quotation"><xsl:copy-of select="cac:QuotationDocumentReference/*[self::cbc:ID or self::cbc:IssueDate]"/></fact>
    <fact key="catalogue"><xsl:copy-of select="cac:CatalogueReference/*[self::cbc:ID or self::cbc:IssueDate]"/></fact>
    <xsl:apply-templates select="cac:BillingReference"/>
    <xsl:for-each select="cac:DiscrepancyResponse">
      <fact key="discrepancy"><xsl:copy-of select="cbc:ReferenceID"/><xsl:copy-of select="cbc:ResponseCode"/><xsl:copy-of select="cbc:Description"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:ContractDocumentReference | cac:Contract">
      <fact key="contract">
        <xsl:copy-of select="cbc:ID | cbc:IssueDate"/>
        <xsl:copy-of select="cbc:ContractType | cbc:DocumentType | cbc:DocumentTypeCode | cbc:ContractTypeCode"/>
      </fact>
    </xsl:for-each>
    <xsl:for-each select="cac:ProjectReference | cac:AdditionalDocumentReference[cbc:DocumentTypeCode = 50]">
      <fact key="project"><xsl:copy-of select="cbc:ID"/><shown><xsl:copy-of select="cbc:DocumentTypeCode"/></shown></fact>
    </xsl:for-each>
    <!-- An order's originator asked for the goods, an invoice's for tenders. -->
    <xsl:variable name="is_order" select="boolean(cac:OrderLine)"/>
    <xsl:for-each select="cac:OriginatorDocumentReference">
      <xsl:choose>
        <xsl:when test="$is_order"><fact key="requisition"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></fact></xsl:when>
        <xsl:otherwise><fact key="tender"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></fact></xsl:otherwise>
      </xsl:choose>
    </xsl:for-each>
    <xsl:for-each select="cac:AdditionalDocumentReference[cbc:DocumentTypeCode = 130]">
      <fact key="invoiced_object" scheme="yes">
        <xsl:copy-of select="cbc:ID"/><shown><xsl:copy-of select="cbc:DocumentTypeCode"/></shown>
      </fact>
    </xsl:for-each>
    <xsl:for-each select="cac:DespatchDocumentReference">
      <fact key="despatch_advice"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:ReceiptDocumentReference">
      <fact key="receipt_advice"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/></fact>
    </xsl:for-each>
    <xsl:apply-templates select="cac:DeliveryTerms | cac:Delivery/cac:DeliveryTerms | cac:Shipment/cac:Delivery/cac:DeliveryTerms"/>
    <xsl:for-each select="cac:TransactionConditions">
      <fact key="conditions"><xsl:copy-of select="cbc:ID | cbc:ActionCode | cbc:Description"/></fact>
    </xsl:for-each>
    <fact key="accounting_cost"><xsl:copy-of select="cbc:AccountingCost | cbc:AccountingCostCode"/></fact>
  </xsl:template>

  <xsl:template match="cac:DeliveryTerms">
    <fact key="delivery_terms"><xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cac:DeliveryLocation/cbc:ID"/></fact>
    <fact key="delivery_terms"><xsl:copy-of select="cbc:SpecialTerms | cbc:LossRisk | cac:DeliveryLocation/cbc:Description"/></fact>
    <fact key="delivery_terms"><xsl:apply-templates select="cac:DeliveryLocation/cac:Address" mode="in-one-line"/></fact>
  </xsl:template>

  <!-- Of the document, or of a line: what it corrects. -->
  <xsl:template match="cac:BillingReference">
    <xsl:for-each select="cac:InvoiceDocumentReference | cac:CreditNoteDocumentReference | cac:SelfBilledInvoiceDocumentReference
        | cac:DebitNoteReference | cac:ReminderDocumentReference">
      <fact key="preceding_invoice"><xsl:copy-of select="cbc:ID | cbc:IssueDate"/><xsl:copy-of select="cbc:DocumentDescription"/></fact>
    </xsl:for-each>
  </xsl:template>

  <xsl:template name="period">
    <xsl:if test="cbc:StartDate or cbc:EndDate">
      <xsl:copy-of select="cbc:StartDate"/><xsl:copy-of select="cbc:StartTime"/>–<xsl:copy-of select="cbc:EndDate"/><xsl:copy-of select="cbc:EndTime"/>
    </xsl:if>
  </xsl:template>

  <xsl:template name="attachments">
    <xsl:variable name="references" select="cac:AdditionalDocumentReference[cac:Attachment
            or not(cbc:DocumentTypeCode = 50 or cbc:DocumentTypeCode = 130)]
        | cac:OriginatorDocumentReference[cac:Attachment] | cac:DocumentResponse/cac:DocumentReference[cac:Attachment]
        | cac:OrderLine/cac:LineItem/cac:Item/cac:ItemSpecificationDocumentReference[cac:Attachment]"/>
    <attachments>
      <xsl:for-each select="$references">
        <attachment number="{cac:Attachment/cbc:EmbeddedDocumentBinaryObject/@filedrop-number}"
            name="{cac:Attachment/cbc:EmbeddedDocumentBinaryObject/@filename}">
          <xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:DocumentDescription"/>
          <xsl:copy-of select="cbc:DocumentType | cbc:DocumentTypeCode | cbc:IssueDate"/>
          <xsl:copy-of select="cac:Attachment/cac:ExternalReference/cbc:URI"/>
        </attachment>
      </xsl:for-each>
    </attachments>
  </xsl:template>
</xsl:stylesheet>
