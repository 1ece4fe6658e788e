<?xml version="1.0" encoding="UTF-8"?>
<!-- A CII invoice (D16B, D22B) as a sheet (see common.xsl). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
    xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
  <xsl:include href="common.xsl"/>
  <xsl:include href="cii_parties.xsl"/>
  <xsl:include href="cii_lines.xsl"/>
  <xsl:include href="cii_amounts.xsl"/>
  <xsl:variable name="document" select="/*/rsm:ExchangedDocument"/>
  <xsl:variable name="context" select="/*/rsm:ExchangedDocumentContext"/>
  <xsl:variable name="deal" select="/*/rsm:SupplyChainTradeTransaction"/>
  <xsl:variable name="agreement" select="$deal/ram:ApplicableHeaderTradeAgreement"/>
  <xsl:variable name="delivery" select="$deal/ram:ApplicableHeaderTradeDelivery"/>
  <xsl:variable name="settlement" select="$deal/ram:ApplicableHeaderTradeSettlement"/>
  <xsl:variable name="terms" select="$settlement/ram:SpecifiedTradePaymentTerms"/>
  <xsl:variable name="has_several_terms" select="count($terms) &gt; 1"/>

  <xsl:template match="/*">
    <sheet currency="{substring(normalize-space($settlement/ram:InvoiceCurrencyCode), 1, 20)}">
      <xsl:attribute name="kind">
        <xsl:choose>
          <xsl:when test="contains($credit_notes, concat(' ', normalize-space($document/ram:TypeCode), ' '))">CreditNote</xsl:when>
          <xsl:otherwise>CrossIndustryInvoice</xsl:otherwise>
        </xsl:choose>
      </xsl:attribute>
      <number><xsl:copy-of select="$document/ram:ID[1]"/></number>
      <notices>
        <xsl:if test="$context/ram:TestIndicator[normalize-space() = 'true' or normalize-space() = '1']"><p key="is_test"/></xsl:if>
        <xsl:if test="$document/ram:CopyIndicator[normalize-space() = 'true' or normalize-space() = '1']"><p key="is_copy"/></xsl:if>
      </notices>
      <head>
        <fact key="payable" strong="yes">
          <xsl:copy-of select="$settlement/ram:SpecifiedTradeSettlementHeaderMonetarySummation/ram:DuePayableAmount"/>
        </fact>
        <xsl:for-each select="$terms/ram:DueDateDateTime">
          <fact key="due_date"><xsl:copy-of select="*"/></fact>
        </xsl:for-each>
        <fact key="account">
          <xsl:copy-of select="$settlement/ram:SpecifiedTradeSettlementPaymentMeans[ram:PayeePartyCreditorFinancialAccount][1]
              /ram:PayeePartyCreditorFinancialAccount/*[self::ram:IBANID or self::ram:ProprietaryID]"/>
        </fact>
      </head>
      <facts><xsl:call-template name="facts"/></facts>
      <xsl:call-template name="parties"/>
      <xsl:call-template name="lines"/>
      <xsl:call-template name="allowances"/>
      <xsl:call-template name="taxes"/>
      <xsl:call-template name="prepayments"/>
      <xsl:apply-templates select="$settlement/ram:SpecifiedTradeSettlementHeaderMonetarySummation"/>
      <xsl:call-template name="payment"/>
      <xsl:call-template name="discounts"/>
      <texts key="notes">
        <xsl:for-each select="$document/ram:IncludedNote"><p><xsl:call-template name="note"/></p></xsl:for-each>
      </texts>
      <attachments>
        <xsl:for-each select="$agreement/ram:AdditionalReferencedDocument[ram:AttachmentBinaryObject
            or not(ram:TypeCode = 50 or ram:TypeCode = 130)]">
          <attachment number="{ram:AttachmentBinaryObject/@filedrop-number}" name="{ram:AttachmentBinaryObject/@filename}">
            <xsl:copy-of select="ram:IssuerAssignedID"/><xsl:copy-of select="ram:Name"/>
            <xsl:if test="not(ram:TypeCode = 916)"><xsl:copy-of select="ram:TypeCode"/></xsl:if>
            <xsl:copy-of select="ram:ReferenceTypeCode | ram:FormattedIssueDateTime/* | ram:URIID"/>
            <!-- 916 is what every attachment has. -->
            <shown><xsl:copy-of select="ram:TypeCode"/></shown>
          </attachment>
        </xsl:for-each>
      </attachments>
      <section key="format">
        <fact key="specification"><xsl:copy-of select="$context/ram:GuidelineSpecifiedDocumentContextParameter/ram:ID"/></fact>
        <fact key="process"><xsl:copy-of select="$context/ram:BusinessProcessSpecifiedDocumentContextParameter/ram:ID"/></fact>
        <fact key="language"><xsl:copy-of select="$document/ram:LanguageID"/></fact>
      </section>
    </sheet>
  </xsl:template>

  <xsl:template name="facts">
    <fact key="type" list="document_type"><xsl:copy-of select="$document/ram:TypeCode"/></fact>
    <fact key="document_name"><xsl:copy-of select="$document/ram:Name"/></fact>
    <fact key="test"><xsl:copy-of select="$context/ram:TestIndicator/*"/></fact>
    <fact key="copy"><xsl:copy-of select="$document/ram:CopyIndicator/*"/></fact>
    <fact key="issue_date"><xsl:copy-of select="$document/ram:IssueDateTime/*"/></fact>
    <fact key="delivery_date"><xsl:copy-of select="$delivery/ram:ActualDeliverySupplyChainEvent/ram:OccurrenceDateTime/*"/></fact>
    <xsl:for-each select="$settlement/ram:BillingSpecifiedPeriod">
      <fact key="period"><xsl:call-template name="period"/></fact>
    </xsl:for-each>
    <fact key="currency"><xsl:copy-of select="$settlement/ram:InvoiceCurrencyCode"/></fact>
    <fact key="tax_currency"><xsl:copy-of select="$settlement/ram:TaxCurrencyCode"/></fact>
    <xsl:for-each select="$settlement/ram:TaxApplicableTradeCurrencyExchange | $settlement/ram:InvoiceApplicableTradeCurrencyExchange
        | $settlement/ram:PaymentApplicableTradeCurrencyExchange">
      <fact key="exchange_rate">
        <xsl:copy-of select="ram:SourceCurrencyCode"/>→<xsl:copy-of select="ram:TargetCurrencyCode"/>
        <xsl:text> </xsl:text>
        <xsl:copy-of select="ram:ConversionRate"/><xsl:copy-of select="ram:ConversionRateDateTime/*"/>
      </fact>
    </xsl:for-each>
    <fact key="buyer_reference"><xsl:copy-of select="$agreement/ram:BuyerReference"/></fact>
    <xsl:for-each select="$agreement/ram:BuyerOrderReferencedDocument">
      <fact key="order"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$agreement/ram:SellerOrderReferencedDocument">
      <fact key="sales_order"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$agreement/ram:QuotationReferencedDocument">
      <fact key="quotation"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$settlement/ram:InvoiceReferencedDocument">
      <fact key="preceding_invoice"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$agreement/ram:ContractReferencedDocument">
      <fact key="contract"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <fact key="project"><xsl:copy-of select="$agreement/ram:SpecifiedProcuringProject/*"/></fact>
    <xsl:for-each select="$agreement/ram:AdditionalReferencedDocument[ram:TypeCode = 50]">
      <fact key="tender"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$agreement/ram:AdditionalReferencedDocument[ram:TypeCode = 130]">
      <fact key="invoiced_object"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$delivery/ram:DespatchAdviceReferencedDocument">
      <fact key="despatch_advice"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$delivery/ram:DeliveryNoteReferencedDocument">
      <fact key="delivery_note"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <xsl:for-each select="$delivery/ram:ReceivingAdviceReferencedDocument">
      <fact key="receipt_advice"><xsl:call-template name="reference"/></fact>
    </xsl:for-each>
    <fact key="delivery_terms"><xsl:copy-of select="$agreement/ram:ApplicableTradeDeliveryTerms/*"/></fact>
    <fact key="transport_mode" list="transport_mode"><xsl:copy-of select="$delivery/ram:RelatedSupplyChainConsignment
        /ram:SpecifiedLogisticsTransportMovement/ram:ModeCode"/></fact>
    <fact key="accounting_cost"><xsl:copy-of select="$settlement/ram:ReceivableSpecifiedTradeAccountingAccount/*"/></fact>
  </xsl:template>

  <!-- A document that is referred to. Of types, those that the label states are not repeated. -->
  <xsl:template name="reference">
    <xsl:copy-of select="ram:IssuerAssignedID"/><xsl:copy-of select="ram:LineID"/><xsl:copy-of select="ram:Name"/>
    <xsl:copy-of select="ram:FormattedIssueDateTime/*"/><xsl:copy-of select="ram:ReferenceTypeCode"/>
    <xsl:choose>
      <xsl:when test="ram:TypeCode = 50 or ram:TypeCode = 130"><shown><xsl:copy-of select="ram:TypeCode"/></shown></xsl:when>
      <xsl:otherwise><xsl:copy-of select="ram:TypeCode"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <!-- What a note is about (UNTDID 4451), and its text. -->
  <xsl:template name="note">
    <label list="note_subject"><xsl:copy-of select="ram:SubjectCode"/></label>
    <xsl:copy-of select="ram:ContentCode"/><xsl:copy-of select="ram:Content"/>
  </xsl:template>

  <xsl:template name="period">
    <xsl:if test="ram:StartDateTime or ram:EndDateTime">
      <xsl:copy-of select="ram:StartDateTime/*"/>–<xsl:copy-of select="ram:EndDateTime/*"/>
    </xsl:if>
    <xsl:copy-of select="ram:Description"/>
  </xsl:template>
</xsl:stylesheet>
