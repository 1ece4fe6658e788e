<?xml version="1.0" encoding="UTF-8"?>
<!-- A CII invoice (D16B) as a sheet (see common.xsl). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
    xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"
    exclude-result-prefixes="rsm ram udt">
  <xsl:include href="common.xsl"/>
  <xsl:variable name="document" select="/*/rsm:ExchangedDocument"/>
  <xsl:variable name="deal" select="/*/rsm:SupplyChainTradeTransaction"/>
  <xsl:variable name="agreement" select="$deal/ram:ApplicableHeaderTradeAgreement"/>
  <xsl:variable name="delivery" select="$deal/ram:ApplicableHeaderTradeDelivery"/>
  <xsl:variable name="settlement" select="$deal/ram:ApplicableHeaderTradeSettlement"/>
  <xsl:variable name="terms" select="$settlement/ram:SpecifiedTradePaymentTerms"/>
  <!-- What is copied to many places is copied short: a long one would make the sheet grow with the square. -->
  <xsl:variable name="currency" select="substring($settlement/ram:InvoiceCurrencyCode, 1, 20)"/>
  <xsl:variable name="has_several_terms" select="count($terms) &gt; 1"/>

  <xsl:template match="/*">
    <sheet number="{normalize-space($document/ram:ID)}">
      <xsl:attribute name="kind">
        <xsl:choose>
          <xsl:when test="contains($credit_notes, concat(' ', normalize-space($document/ram:TypeCode), ' '))">CreditNote</xsl:when>
          <xsl:otherwise>CrossIndustryInvoice</xsl:otherwise>
        </xsl:choose>
      </xsl:attribute>
      <facts>
        <fact key="type" list="document_type"><xsl:value-of select="$document/ram:TypeCode"/></fact>
        <fact key="issue_date"><xsl:apply-templates select="$document/ram:IssueDateTime" mode="date"/></fact>
        <xsl:for-each select="$terms/ram:DueDateDateTime">
          <fact key="due_date"><xsl:apply-templates select="." mode="date"/></fact>
        </xsl:for-each>
        <fact key="delivery_date"><xsl:apply-templates select="$delivery/ram:ActualDeliverySupplyChainEvent/ram:OccurrenceDateTime" mode="date"/></fact>
        <xsl:for-each select="$settlement/ram:BillingSpecifiedPeriod">
          <fact key="period"><xsl:apply-templates select="." mode="period"/></fact>
        </xsl:for-each>
        <fact key="currency"><xsl:value-of select="$settlement/ram:InvoiceCurrencyCode"/></fact>
        <fact key="buyer_reference"><xsl:value-of select="$agreement/ram:BuyerReference"/></fact>
        <fact key="order"><xsl:value-of select="$agreement/ram:BuyerOrderReferencedDocument/ram:IssuerAssignedID"/></fact>
        <fact key="sales_order"><xsl:value-of select="$agreement/ram:SellerOrderReferencedDocument/ram:IssuerAssignedID"/></fact>
        <xsl:for-each select="$settlement/ram:InvoiceReferencedDocument">
          <fact key="preceding_invoice"><xsl:value-of select="ram:IssuerAssignedID"/></fact>
        </xsl:for-each>
        <fact key="contract"><xsl:value-of select="$agreement/ram:ContractReferencedDocument/ram:IssuerAssignedID"/></fact>
        <fact key="project"><xsl:value-of select="$agreement/ram:SpecifiedProcuringProject/ram:ID"/></fact>
        <fact key="despatch_advice"><xsl:value-of select="$delivery/ram:DespatchAdviceReferencedDocument/ram:IssuerAssignedID"/></fact>
        <fact key="accounting_cost"><xsl:value-of select="$settlement/ram:ReceivableSpecifiedTradeAccountingAccount/ram:ID"/></fact>
      </facts>
      <parties>
        <xsl:apply-templates select="$agreement/ram:SellerTradeParty" mode="party"/>
        <xsl:apply-templates select="$agreement/ram:BuyerTradeParty" mode="party"/>
        <xsl:apply-templates select="$settlement/ram:PayeeTradeParty | $agreement/ram:SellerTaxRepresentativeTradeParty
            | $delivery/ram:ShipToTradeParty" mode="party"/>
      </parties>
      <xsl:call-template name="lines"/>
      <xsl:call-template name="allowances"/>
      <xsl:call-template name="taxes"/>
      <xsl:apply-templates select="$settlement/ram:SpecifiedTradeSettlementHeaderMonetarySummation"/>
      <xsl:call-template name="payment"/>
      <xsl:call-template name="discounts"/>
      <texts key="notes">
        <xsl:for-each select="$document/ram:IncludedNote/ram:Content"><p><xsl:value-of select="."/></p></xsl:for-each>
      </texts>
      <attachments>
        <xsl:for-each select="$agreement/ram:AdditionalReferencedDocument">
          <attachment id="{ram:IssuerAssignedID}" number="{ram:AttachmentBinaryObject/@filedrop-number}"
            name="{ram:AttachmentBinaryObject/@filename}" uri="{ram:URIID}">
            <xsl:value-of select="ram:Name"/>
          </attachment>
        </xsl:for-each>
      </attachments>
    </sheet>
  </xsl:template>

  <!-- 20261120, as format 102 has it, is 2026-11-20. -->
  <xsl:template match="*" mode="date">
    <xsl:variable name="day" select="normalize-space((udt:DateTimeString | udt:DateString | *)[1])"/>
    <xsl:choose>
      <xsl:when test="string-length($day) = 8 and not(translate($day, '0123456789', ''))">
        <xsl:value-of select="concat(substring($day, 1, 4), '-', substring($day, 5, 2), '-', substring($day, 7, 2))"/>
      </xsl:when>
      <xsl:otherwise><xsl:value-of select="$day"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template match="*" mode="period">
    <xsl:apply-templates select="ram:StartDateTime" mode="date"/>
    <xsl:text> – </xsl:text>
    <xsl:apply-templates select="ram:EndDateTime" mode="date"/>
  </xsl:template>

  <xsl:template match="*" mode="party">
    <party role="{local-name()}">
      <line><xsl:value-of select="normalize-space(ram:Name)"/></line>
      <line><xsl:variable name="trading" select="string(ram:SpecifiedLegalOrganization/ram:TradingBusinessName)"/>
        <xsl:if test="$trading != string(ram:Name)"><xsl:value-of select="normalize-space($trading)"/></xsl:if></line>
      <line><xsl:value-of select="normalize-space(ram:PostalTradeAddress/ram:LineOne)"/></line>
      <line><xsl:value-of select="normalize-space(ram:PostalTradeAddress/ram:LineTwo)"/></line>
      <line><xsl:value-of select="normalize-space(ram:PostalTradeAddress/ram:LineThree)"/></line>
      <line><xsl:value-of select="normalize-space(concat(ram:PostalTradeAddress/ram:PostcodeCode, ' ', ram:PostalTradeAddress/ram:CityName))"/></line>
      <line><xsl:value-of select="normalize-space(ram:PostalTradeAddress/ram:CountrySubDivisionName)"/></line>
      <line><xsl:value-of select="normalize-space(ram:PostalTradeAddress/ram:CountryID)"/></line>
      <fact key="company_id"><xsl:value-of select="ram:SpecifiedLegalOrganization/ram:ID"/></fact>
      <xsl:for-each select="ram:SpecifiedTaxRegistration/ram:ID">
        <xsl:choose>
          <xsl:when test="@schemeID = 'VA'"><fact key="vat_id"><xsl:value-of select="."/></fact></xsl:when>
          <xsl:otherwise><fact key="tax_id"><xsl:value-of select="."/></fact></xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
      <fact key="participant"><xsl:apply-templates select="ram:URIUniversalCommunication[1]/ram:URIID" mode="with-scheme"/></fact>
      <xsl:for-each select="ram:ID | ram:GlobalID">
        <fact key="party_id"><xsl:apply-templates select="." mode="with-scheme"/></fact>
      </xsl:for-each>
      <xsl:for-each select="ram:DefinedTradeContact">
        <fact key="contact"><xsl:value-of select="(ram:PersonName | ram:DepartmentName)[1]"/></fact>
        <fact key="telephone"><xsl:value-of select="ram:TelephoneUniversalCommunication/ram:CompleteNumber"/></fact>
        <fact key="email"><xsl:value-of select="ram:EmailURIUniversalCommunication/ram:URIID"/></fact>
      </xsl:for-each>
    </party>
  </xsl:template>

  <xsl:template name="lines">
    <table key="lines">
      <column key="line"/><column key="item"/><column key="quantity" number="yes"/><column key="price" number="yes"/>
      <column key="tax_rate" number="yes"/><column key="amount" number="yes"/>
      <xsl:apply-templates select="$deal/ram:IncludedSupplyChainTradeLineItem" mode="row"/>
    </table>
  </xsl:template>

  <xsl:template match="*" mode="row">
    <xsl:variable name="product" select="ram:SpecifiedTradeProduct"/>
    <xsl:variable name="name" select="string($product/ram:Name)"/>
    <xsl:variable name="settled" select="ram:SpecifiedLineTradeSettlement"/>
    <xsl:variable name="quantity" select="ram:SpecifiedLineTradeDelivery/ram:BilledQuantity"/>
    <xsl:variable name="price" select="ram:SpecifiedLineTradeAgreement/ram:NetPriceProductTradePrice"/>
    <xsl:variable name="gross" select="ram:SpecifiedLineTradeAgreement/ram:GrossPriceProductTradePrice"/>
    <row>
      <cell><xsl:value-of select="ram:AssociatedDocumentLineDocument/ram:LineID"/></cell>
      <cell>
        <xsl:value-of select="$name"/>
        <detail key="parent_line"><xsl:value-of select="ram:AssociatedDocumentLineDocument/ram:ParentLineID"/></detail>
        <detail list="line_kind"><xsl:value-of select="ram:AssociatedDocumentLineDocument/ram:LineStatusReasonCode"/></detail>
        <xsl:for-each select="$product/ram:Description[. != $name]"><detail><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="$product/ram:SellerAssignedID"><detail key="sellers_item"><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="$product/ram:BuyerAssignedID"><detail key="buyers_item"><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="$product/ram:GlobalID"><detail key="standard_item"><xsl:value-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="$product/ram:ApplicableProductCharacteristic">
          <detail><xsl:value-of select="concat(ram:Description, ': ', ram:Value)"/></detail>
        </xsl:for-each>
        <xsl:for-each select="ram:SpecifiedLineTradeAgreement/ram:BuyerOrderReferencedDocument/ram:LineID">
          <detail key="order_line"><xsl:value-of select="."/></detail>
        </xsl:for-each>
        <xsl:for-each select="$settled/ram:BillingSpecifiedPeriod">
          <detail key="period"><xsl:apply-templates select="." mode="period"/></detail>
        </xsl:for-each>
        <xsl:apply-templates select="$settled/ram:SpecifiedTradeAllowanceCharge" mode="detail"/>
        <detail key="accounting_cost"><xsl:value-of select="$settled/ram:ReceivableSpecifiedTradeAccountingAccount/ram:ID"/></detail>
        <xsl:for-each select="ram:AssociatedDocumentLineDocument/ram:IncludedNote/ram:Content">
          <detail key="note"><xsl:value-of select="."/></detail>
        </xsl:for-each>
      </cell>
      <cell number="yes" unit="{$quantity/@unitCode}"><xsl:value-of select="$quantity"/></cell>
      <cell number="yes">
        <xsl:value-of select="$price/ram:ChargeAmount"/>
        <xsl:apply-templates select="$price/ram:BasisQuantity" mode="per"/>
        <xsl:if test="$gross/ram:AppliedTradeAllowanceCharge or number($gross/ram:ChargeAmount) != number($price/ram:ChargeAmount)">
          <detail key="gross_price" number="yes"><xsl:value-of select="$gross/ram:ChargeAmount"/></detail>
          <xsl:apply-templates select="$gross/ram:BasisQuantity[not(number(.) = number($price/ram:BasisQuantity))]" mode="per"/>
          <xsl:apply-templates select="$gross/ram:AppliedTradeAllowanceCharge" mode="detail"/>
        </xsl:if>
      </cell>
      <cell number="yes" percent="yes"><xsl:value-of select="$settled/ram:ApplicableTradeTax/ram:RateApplicablePercent"/></cell>
      <cell number="yes"><xsl:value-of select="$settled/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount"/></cell>
    </row>
  </xsl:template>

  <xsl:template match="ram:BasisQuantity[number(.) = 1]" mode="per"/>

  <xsl:template match="*" mode="per">
    <detail key="per" unit="{@unitCode}"><xsl:value-of select="."/></detail>
  </xsl:template>

  <xsl:template match="*" mode="detail">
    <detail amount="{ram:ActualAmount}">
      <xsl:attribute name="key"><xsl:apply-templates select="ram:ChargeIndicator" mode="boolean"/></xsl:attribute>
      <xsl:apply-templates select="." mode="reason"/>
    </detail>
  </xsl:template>

  <xsl:template match="*" mode="reason">
    <xsl:choose>
      <xsl:when test="normalize-space(ram:Reason)"><xsl:value-of select="ram:Reason"/></xsl:when>
      <xsl:otherwise><xsl:for-each select="ram:ReasonCode[normalize-space()]">(<xsl:value-of select="."/>)</xsl:for-each></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template name="allowances">
    <table key="allowances_and_charges">
      <column key="kind"/><column key="reason"/><column key="tax_rate" number="yes"/><column key="amount" number="yes"/>
      <xsl:for-each select="$settlement/ram:SpecifiedTradeAllowanceCharge">
        <row>
          <cell list="allowance"><xsl:apply-templates select="ram:ChargeIndicator" mode="boolean"/></cell>
          <cell><xsl:apply-templates select="." mode="reason"/></cell>
          <cell number="yes" percent="yes"><xsl:value-of select="ram:CategoryTradeTax/ram:RateApplicablePercent"/></cell>
          <cell number="yes"><xsl:value-of select="ram:ActualAmount"/></cell>
        </row>
      </xsl:for-each>
      <xsl:for-each select="$settlement/ram:SpecifiedLogisticsServiceCharge">
        <row>
          <cell list="allowance">true</cell>
          <cell><xsl:value-of select="ram:Description"/></cell>
          <cell number="yes" percent="yes"><xsl:value-of select="ram:AppliedTradeTax/ram:RateApplicablePercent"/></cell>
          <cell number="yes"><xsl:value-of select="ram:AppliedAmount"/></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template name="taxes">
    <table key="taxes">
      <column key="tax_category"/><column key="tax_rate" number="yes"/><column key="taxable_amount" number="yes"/>
      <column key="tax_amount" number="yes"/>
      <xsl:for-each select="$settlement/ram:ApplicableTradeTax">
        <row>
          <cell list="tax_category"><xsl:value-of select="ram:CategoryCode"/>
            <xsl:for-each select="ram:ExemptionReason"><detail><xsl:value-of select="."/></detail></xsl:for-each>
            <xsl:for-each select="ram:ExemptionReasonCode"><detail><xsl:value-of select="."/></detail></xsl:for-each>
          </cell>
          <cell number="yes" percent="yes"><xsl:value-of select="ram:RateApplicablePercent"/></cell>
          <cell number="yes"><xsl:for-each select="ram:BasisAmount[1]"><xsl:call-template name="amount"/></xsl:for-each></cell>
          <cell number="yes"><xsl:for-each select="ram:CalculatedAmount[1]"><xsl:call-template name="amount"/></xsl:for-each></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="ram:SpecifiedTradeSettlementHeaderMonetarySummation">
    <totals>
      <xsl:for-each select="ram:LineTotalAmount"><fact key="line_total"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:AllowanceTotalAmount"><fact key="allowance_total"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:ChargeTotalAmount"><fact key="charge_total"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:TaxBasisTotalAmount"><fact key="total_without_tax"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:TaxTotalAmount"><fact key="tax_total"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:GrandTotalAmount"><fact key="total_with_tax"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:TotalPrepaidAmount"><fact key="prepaid"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:RoundingAmount"><fact key="rounding"><xsl:call-template name="amount"/></fact></xsl:for-each>
      <xsl:for-each select="ram:DuePayableAmount"><fact key="payable" strong="yes"><xsl:call-template name="amount"/></fact></xsl:for-each>
    </totals>
  </xsl:template>

  <!-- Of amounts, only that of the tax must say its currency. -->
  <xsl:template name="amount">
    <xsl:attribute name="currency">
      <xsl:choose>
        <xsl:when test="@currencyID"><xsl:value-of select="@currencyID"/></xsl:when>
        <xsl:otherwise><xsl:value-of select="$currency"/></xsl:otherwise>
      </xsl:choose>
    </xsl:attribute>
    <xsl:value-of select="."/>
  </xsl:template>

  <xsl:template name="payment">
    <section key="payment">
      <xsl:for-each select="$settlement/ram:SpecifiedTradeSettlementPaymentMeans">
        <fact key="payment_means" list="payment_means"><xsl:value-of select="ram:TypeCode"/></fact>
        <fact key="account">
          <xsl:value-of select="ram:PayeePartyCreditorFinancialAccount/*[self::ram:IBANID or self::ram:ProprietaryID][1]"/>
        </fact>
        <fact key="account_name"><xsl:value-of select="ram:PayeePartyCreditorFinancialAccount/ram:AccountName"/></fact>
        <fact key="bank"><xsl:value-of select="ram:PayeeSpecifiedCreditorFinancialInstitution/ram:BICID"/></fact>
        <fact key="card"><xsl:value-of select="ram:ApplicableTradeSettlementFinancialCard/ram:ID"/></fact>
        <fact key="debited_account">
          <xsl:value-of select="ram:PayerPartyDebtorFinancialAccount/*[self::ram:IBANID or self::ram:ProprietaryID][1]"/>
        </fact>
      </xsl:for-each>
      <fact key="payment_id"><xsl:value-of select="$settlement/ram:PaymentReference"/></fact>
      <fact key="creditor_id"><xsl:value-of select="$settlement/ram:CreditorReferenceID"/></fact>
      <xsl:for-each select="$terms">
        <fact key="payment_terms"><xsl:value-of select="ram:Description"/></fact>
        <xsl:if test="$has_several_terms">
          <fact key="due_date"><xsl:apply-templates select="ram:DueDateDateTime" mode="date"/></fact>
        </xsl:if>
        <xsl:for-each select="ram:PartialPaymentAmount">
          <fact key="partial_amount"><xsl:call-template name="amount"/></fact>
        </xsl:for-each>
        <fact key="mandate"><xsl:value-of select="ram:DirectDebitMandateID"/></fact>
      </xsl:for-each>
    </section>
  </xsl:template>

  <xsl:template match="ram:ApplicableTradePaymentDiscountTerms" mode="kind">discount</xsl:template>
  <xsl:template match="ram:ApplicableTradePaymentPenaltyTerms" mode="kind">penalty</xsl:template>

  <xsl:template name="discounts">
    <table key="discounts_and_penalties">
      <column key="kind"/><column key="due_date"/><column key="from_date"/><column key="period" number="yes"/>
      <column key="percent" number="yes"/><column key="base_amount" number="yes"/><column key="amount" number="yes"/>
      <xsl:for-each select="$terms">
        <xsl:variable name="due"><xsl:apply-templates select="ram:DueDateDateTime[1]" mode="date"/></xsl:variable>
        <xsl:apply-templates select="*[self::ram:ApplicableTradePaymentDiscountTerms
            or self::ram:ApplicableTradePaymentPenaltyTerms]" mode="row_of_terms">
          <xsl:with-param name="due" select="substring($due, 1, 40)"/>
        </xsl:apply-templates>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="*" mode="row_of_terms">
    <xsl:param name="due"/>
    <row>
      <cell list="allowance"><xsl:apply-templates select="." mode="kind"/></cell>
      <cell><xsl:value-of select="$due"/></cell>
      <cell><xsl:apply-templates select="ram:BasisDateTime" mode="date"/></cell>
      <cell number="yes" unit="{ram:BasisPeriodMeasure/@unitCode}"><xsl:value-of select="ram:BasisPeriodMeasure"/></cell>
      <cell number="yes" percent="yes"><xsl:value-of select="ram:CalculationPercent"/></cell>
      <cell number="yes"><xsl:for-each select="ram:BasisAmount[1]"><xsl:call-template name="amount"/></xsl:for-each></cell>
      <cell number="yes"><xsl:for-each select="(ram:ActualDiscountAmount | ram:ActualPenaltyAmount)[1]">
        <xsl:call-template name="amount"/>
      </xsl:for-each></cell>
    </row>
  </xsl:template>
</xsl:stylesheet>
