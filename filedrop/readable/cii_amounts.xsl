<?xml version="1.0" encoding="UTF-8"?>
<!-- What a CII invoice says of amounts besides its lines: allowances, tax, totals, payment. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100">

  <xsl:template name="allowances">
    <table key="allowances_and_charges">
      <column key="kind"/><column key="reason"/><column key="base_amount" number="yes"/><column key="percent" number="yes"/>
      <column key="tax_rate" number="yes"/><column key="amount" number="yes"/>
      <xsl:for-each select="$settlement/ram:SpecifiedTradeAllowanceCharge">
        <row>
          <cell list="allowance"><xsl:copy-of select="ram:ChargeIndicator/*"/></cell>
          <cell><xsl:call-template name="reason"/></cell>
          <cell><xsl:copy-of select="ram:BasisAmount"/><xsl:copy-of select="ram:BasisQuantity"/></cell>
          <cell><xsl:copy-of select="ram:CalculationPercent"/></cell>
          <cell><xsl:apply-templates select="ram:CategoryTradeTax" mode="rate"/></cell>
          <cell><xsl:copy-of select="ram:ActualAmount"/></cell>
        </row>
      </xsl:for-each>
      <xsl:for-each select="$settlement/ram:SpecifiedLogisticsServiceCharge">
        <row>
          <cell list="allowance">true</cell>
          <cell><xsl:copy-of select="ram:Description"/></cell>
          <cell/>
          <cell/>
          <cell><xsl:apply-templates select="ram:AppliedTradeTax" mode="rate"/></cell>
          <cell><xsl:copy-of select="ram:AppliedAmount"/></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="*" mode="rate">
    <xsl:copy-of select="ram:RateApplicablePercent"/>
    <detail list="tax_category"><xsl:call-template name="category"/></detail>
  </xsl:template>

  <!-- Of a tax category: the tax, where it isn't VAT, and its kind. -->
  <xsl:template name="category">
    <shown><xsl:copy-of select="ram:TypeCode[. = 'VAT']"/></shown>
    <xsl:copy-of select="ram:TypeCode[. != 'VAT']"/><xsl:copy-of select="ram:CategoryCode"/>
    <xsl:copy-of select="ram:ExemptionReason[not(parent::*/parent::ram:ApplicableHeaderTradeSettlement)]"/>
    <xsl:copy-of select="ram:ExemptionReasonCode[not(parent::*/parent::ram:ApplicableHeaderTradeSettlement)]"/>
  </xsl:template>

  <!-- Of an allowance or a charge: its own words, and the code, in brackets behind them. -->
  <xsl:template name="reason">
    <xsl:copy-of select="ram:Reason"/>
    <xsl:for-each select="ram:ReasonCode[normalize-space()]">(<xsl:copy-of select="."/>)</xsl:for-each>
  </xsl:template>

  <!-- An allowance or a charge of a line, or of its price. -->
  <xsl:template match="*" mode="details">
    <detail>
      <label list="allowance"><xsl:copy-of select="ram:ChargeIndicator/*"/></label>
      <xsl:call-template name="reason"/><xsl:text> </xsl:text><xsl:copy-of select="ram:ActualAmount"/>
    </detail>
    <detail key="base_amount"><xsl:copy-of select="ram:BasisAmount"/></detail>
    <detail key="percent"><xsl:copy-of select="ram:CalculationPercent"/></detail>
    <xsl:for-each select="ram:CategoryTradeTax">
      <detail key="tax_rate" list="tax_category"><xsl:copy-of select="ram:RateApplicablePercent"/><xsl:call-template name="category"/></detail>
    </xsl:for-each>
  </xsl:template>

  <xsl:template name="taxes">
    <table key="taxes">
      <column key="tax_category"/><column key="tax_rate" number="yes"/><column key="taxable_amount" number="yes"/>
      <column key="tax_amount" number="yes"/>
      <xsl:for-each select="$settlement/ram:ApplicableTradeTax">
        <row>
          <cell list="tax_category"><xsl:call-template name="category"/>
            <xsl:for-each select="ram:ExemptionReason"><detail><xsl:copy-of select="."/></detail></xsl:for-each>
            <xsl:for-each select="ram:ExemptionReasonCode"><detail><xsl:copy-of select="."/></detail></xsl:for-each>
            <detail key="tax_point_date"><xsl:copy-of select="ram:TaxPointDate/*"/></detail>
            <detail key="tax_point_code" list="tax_point"><xsl:copy-of select="ram:DueDateTypeCode"/></detail>
          </cell>
          <cell><xsl:copy-of select="ram:RateApplicablePercent"/></cell>
          <cell currency="yes">
            <xsl:copy-of select="ram:BasisAmount"/>
            <detail key="line_total"><xsl:copy-of select="ram:LineTotalBasisAmount"/></detail>
            <detail key="allowances_and_charges"><xsl:copy-of select="ram:AllowanceChargeBasisAmount"/></detail>
          </cell>
          <cell currency="yes"><xsl:copy-of select="ram:CalculatedAmount"/></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template name="prepayments">
    <table key="prepayments">
      <column key="preceding_invoice"/><column key="issue_date"/><column key="tax_category"/>
      <column key="tax_amount" number="yes"/><column key="amount" number="yes"/>
      <xsl:for-each select="$settlement/ram:SpecifiedAdvancePayment">
        <row>
          <cell><xsl:for-each select="ram:InvoiceSpecifiedReferencedDocument"><xsl:call-template name="reference"/></xsl:for-each></cell>
          <cell><xsl:copy-of select="ram:FormattedReceivedDateTime/*"/></cell>
          <cell list="tax_category">
            <xsl:for-each select="ram:IncludedTradeTax">
              <detail list="tax_category"><xsl:copy-of select="ram:RateApplicablePercent"/><xsl:call-template name="category"/></detail>
            </xsl:for-each>
          </cell>
          <cell currency="yes"><xsl:copy-of select="ram:IncludedTradeTax/ram:CalculatedAmount"/></cell>
          <cell currency="yes"><xsl:copy-of select="ram:PaidAmount"/></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="ram:SpecifiedTradeSettlementHeaderMonetarySummation">
    <totals>
      <fact key="line_total"><xsl:copy-of select="ram:LineTotalAmount"/></fact>
      <fact key="allowance_total"><xsl:copy-of select="ram:AllowanceTotalAmount"/></fact>
      <fact key="charge_total"><xsl:copy-of select="ram:ChargeTotalAmount"/></fact>
      <xsl:for-each select="ram:TaxBasisTotalAmount"><fact key="total_without_tax"><xsl:copy-of select="."/></fact></xsl:for-each>
      <xsl:for-each select="ram:TaxTotalAmount"><fact key="tax_total"><xsl:copy-of select="."/></fact></xsl:for-each>
      <xsl:for-each select="ram:GrandTotalAmount"><fact key="total_with_tax"><xsl:copy-of select="."/></fact></xsl:for-each>
      <fact key="prepaid"><xsl:copy-of select="ram:TotalPrepaidAmount"/></fact>
      <fact key="rounding"><xsl:copy-of select="ram:RoundingAmount"/></fact>
      <fact key="payable" strong="yes"><xsl:copy-of select="ram:DuePayableAmount"/></fact>
    </totals>
  </xsl:template>

  <xsl:template name="payment">
    <section key="payment">
      <xsl:for-each select="$settlement/ram:SpecifiedTradeSettlementPaymentMeans">
        <fact key="payment_means" list="payment_means"><xsl:copy-of select="ram:TypeCode"/><xsl:copy-of select="ram:Information"/></fact>
        <xsl:for-each select="ram:PayeePartyCreditorFinancialAccount">
          <fact key="account"><xsl:copy-of select="ram:IBANID | ram:ProprietaryID"/></fact>
          <fact key="account_name"><xsl:copy-of select="ram:AccountName"/></fact>
        </xsl:for-each>
        <fact key="bank"><xsl:copy-of select="ram:PayeeSpecifiedCreditorFinancialInstitution/*"/></fact>
        <xsl:for-each select="ram:ApplicableTradeSettlementFinancialCard">
          <fact key="card"><xsl:copy-of select="ram:ID"/></fact>
          <fact key="card_holder"><xsl:copy-of select="ram:CardholderName"/></fact>
        </xsl:for-each>
        <fact key="debited_account"><xsl:copy-of select="ram:PayerPartyDebtorFinancialAccount/*"/></fact>
        <fact key="bank"><xsl:copy-of select="ram:PayerSpecifiedDebtorFinancialInstitution/*"/></fact>
      </xsl:for-each>
      <fact key="payment_id"><xsl:copy-of select="$settlement/ram:PaymentReference"/></fact>
      <fact key="creditor_id"><xsl:copy-of select="$settlement/ram:CreditorReferenceID"/></fact>
      <xsl:for-each select="$terms">
        <xsl:for-each select="ram:Description"><fact key="payment_terms"><xsl:copy-of select="."/></fact></xsl:for-each>
        <xsl:if test="$has_several_terms"><fact key="due_date"><xsl:copy-of select="ram:DueDateDateTime/*"/></fact></xsl:if>
        <xsl:for-each select="ram:PartialPaymentAmount"><fact key="partial_amount"><xsl:copy-of select="."/></fact></xsl:for-each>
        <fact key="mandate"><xsl:copy-of select="ram:DirectDebitMandateID"/></fact>
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
        <xsl:apply-templates select="*[self::ram:ApplicableTradePaymentDiscountTerms
            or self::ram:ApplicableTradePaymentPenaltyTerms]" mode="row_of_terms"/>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="*" mode="row_of_terms">
    <row>
      <cell list="allowance"><xsl:apply-templates select="." mode="kind"/></cell>
      <!-- It is copied to each row, and so only where it is short. -->
      <cell><xsl:copy-of select="../ram:DueDateDateTime[1]/*[string-length() &lt; 40 and not(@*[string-length() &gt; 20])][1]"/></cell>
      <cell><xsl:copy-of select="ram:BasisDateTime/*"/></cell>
      <cell><xsl:copy-of select="ram:BasisPeriodMeasure"/></cell>
      <cell><xsl:copy-of select="ram:CalculationPercent"/></cell>
      <cell currency="yes"><xsl:copy-of select="ram:BasisAmount"/></cell>
      <cell currency="yes"><xsl:copy-of select="ram:ActualDiscountAmount | ram:ActualPenaltyAmount"/></cell>
    </row>
  </xsl:template>
</xsl:stylesheet>
