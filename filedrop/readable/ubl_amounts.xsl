<?xml version="1.0" encoding="UTF-8"?>
<!-- What a UBL document says of amounts besides its lines: allowances, tax, totals, payment. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">

  <!-- In these a multiplier is a percentage; elsewhere it may be a fraction. -->
  <xsl:variable name="has_percentages" select="contains(/*/cbc:CustomizationID, 'en16931')
      or contains(/*/cbc:CustomizationID, 'urn:peppol:') or contains(/*/cbc:CustomizationID, 'urn:fdc:peppol')"/>

  <xsl:template name="allowances">
    <table key="allowances_and_charges">
      <column key="kind"/><column key="reason"/><column key="base_amount" number="yes"/><column key="percent" number="yes"/>
      <column key="tax_rate" number="yes"/><column key="amount" number="yes"/>
      <xsl:for-each select="cac:AllowanceCharge">
        <row>
          <cell list="allowance"><xsl:copy-of select="cbc:ChargeIndicator"/></cell>
          <cell><xsl:call-template name="reason"/></cell>
          <cell><xsl:copy-of select="cbc:BaseAmount"/></cell>
          <cell><xsl:call-template name="multiplier"/></cell>
          <cell>
            <xsl:copy-of select="cac:TaxCategory/cbc:Percent"/>
            <xsl:for-each select="cac:TaxCategory"><detail list="tax_category"><xsl:call-template name="category"/></detail></xsl:for-each>
          </cell>
          <cell><xsl:copy-of select="cbc:Amount"/></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <!-- Of an allowance or a charge: its own words, and the code, in brackets behind them. -->
  <xsl:template name="reason">
    <xsl:copy-of select="cbc:AllowanceChargeReason"/>
    <xsl:for-each select="cbc:AllowanceChargeReasonCode[normalize-space()]">(<xsl:copy-of select="."/>)</xsl:for-each>
  </xsl:template>

  <xsl:template name="multiplier">
    <xsl:if test="$has_percentages"><xsl:attribute name="percent">yes</xsl:attribute></xsl:if>
    <xsl:copy-of select="cbc:MultiplierFactorNumeric"/>
  </xsl:template>

  <!-- An allowance or a charge of a line. -->
  <xsl:template match="cac:AllowanceCharge" mode="details">
    <xsl:apply-templates select="." mode="short"/>
    <detail key="base_amount"><xsl:copy-of select="cbc:BaseAmount"/></detail>
    <xsl:for-each select="cac:TaxCategory">
      <detail key="tax_rate" list="tax_category"><xsl:copy-of select="cbc:Percent"/><xsl:call-template name="category"/></detail>
    </xsl:for-each>
  </xsl:template>

  <xsl:template match="cac:AllowanceCharge" mode="short">
    <detail>
      <label list="allowance"><xsl:copy-of select="cbc:ChargeIndicator"/></label>
      <xsl:call-template name="reason"/><xsl:text> </xsl:text><xsl:copy-of select="cbc:Amount"/>
    </detail>
    <detail>
      <xsl:attribute name="key"><xsl:choose>
        <xsl:when test="$has_percentages">percent</xsl:when><xsl:otherwise>factor</xsl:otherwise>
      </xsl:choose></xsl:attribute>
      <xsl:call-template name="multiplier"/>
    </detail>
  </xsl:template>

  <!-- Of a tax category: the tax, where it isn't VAT, and its kind. -->
  <xsl:template name="category">
    <shown><xsl:copy-of select="cac:TaxScheme/cbc:ID[. = 'VAT']"/></shown>
    <xsl:copy-of select="cac:TaxScheme/*[self::cbc:ID[. != 'VAT'] or self::cbc:Name or self::cbc:TaxTypeCode]"/>
    <xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:Name"/>
    <xsl:copy-of select="cbc:TaxExemptionReason[ancestor::cac:Item]"/><xsl:copy-of select="cbc:TaxExemptionReasonCode[ancestor::cac:Item]"/>
  </xsl:template>

  <xsl:template name="taxes">
    <table key="taxes">
      <xsl:call-template name="columns_of_taxes"/>
      <xsl:apply-templates select="cac:TaxTotal/cac:TaxSubtotal"/>
    </table>
    <table key="withholding_tax">
      <xsl:call-template name="columns_of_taxes"/>
      <xsl:apply-templates select="cac:WithholdingTaxTotal/cac:TaxSubtotal"/>
    </table>
  </xsl:template>

  <xsl:template name="columns_of_taxes">
    <column key="tax_category"/><column key="tax_rate" number="yes"/><column key="taxable_amount" number="yes"/>
    <column key="tax_amount" number="yes"/>
  </xsl:template>

  <xsl:template match="cac:TaxSubtotal">
    <row>
      <cell list="tax_category">
        <xsl:for-each select="cac:TaxCategory"><xsl:call-template name="category"/></xsl:for-each>
        <xsl:for-each select="cac:TaxCategory/cbc:TaxExemptionReason"><detail><xsl:copy-of select="."/></detail></xsl:for-each>
        <xsl:for-each select="cac:TaxCategory/cbc:TaxExemptionReasonCode"><detail><xsl:copy-of select="."/></detail></xsl:for-each>
      </cell>
      <cell><xsl:copy-of select="cac:TaxCategory/cbc:Percent"/><xsl:copy-of select="cbc:Percent"/></cell>
      <cell currency="yes"><xsl:copy-of select="cbc:TaxableAmount"/></cell>
      <cell currency="yes"><xsl:copy-of select="cbc:TaxAmount"/><xsl:copy-of select="cbc:TransactionCurrencyTaxAmount"/></cell>
    </row>
  </xsl:template>

  <xsl:template name="prepayments">
    <!-- XRechnung's extension has somebody else's claims in it, which are added to what is to be paid (BG-DEX-09). -->
    <xsl:variable name="are_claims" select="contains(cbc:CustomizationID, 'extension:xrechnung')"/>
    <table key="prepayments">
      <column key="line"/><column key="payment_id"/><column key="issue_date"/><column key="amount" number="yes"/>
      <xsl:apply-templates select="cac:PrepaidPayment[not($are_claims)]"/>
    </table>
    <table key="third_party_payments">
      <column key="type"/><column key="description"/><column key="issue_date"/><column key="amount" number="yes"/>
      <xsl:apply-templates select="cac:PrepaidPayment[$are_claims]"/>
    </table>
  </xsl:template>

  <xsl:template match="cac:PrepaidPayment">
    <row>
      <cell><xsl:copy-of select="cbc:ID"/></cell>
      <cell><xsl:copy-of select="cbc:InstructionID"/></cell>
      <cell><xsl:copy-of select="cbc:PaidDate"/><xsl:copy-of select="cbc:ReceivedDate"/></cell>
      <cell currency="yes"><xsl:copy-of select="cbc:PaidAmount"/></cell>
    </row>
  </xsl:template>

  <xsl:template match="cac:LegalMonetaryTotal | cac:AnticipatedMonetaryTotal">
    <totals>
      <fact key="line_total"><xsl:copy-of select="cbc:LineExtensionAmount"/></fact>
      <fact key="allowance_total"><xsl:copy-of select="cbc:AllowanceTotalAmount"/></fact>
      <fact key="charge_total"><xsl:copy-of select="cbc:ChargeTotalAmount"/></fact>
      <fact key="total_without_tax"><xsl:copy-of select="cbc:TaxExclusiveAmount"/></fact>
      <xsl:for-each select="../cac:TaxTotal">
        <fact key="tax_total"><xsl:copy-of select="cbc:TaxAmount"/></fact>
        <fact key="rounding"><xsl:copy-of select="cbc:RoundingAmount"/></fact>
      </xsl:for-each>
      <fact key="total_with_tax"><xsl:copy-of select="cbc:TaxInclusiveAmount"/></fact>
      <xsl:for-each select="../cac:WithholdingTaxTotal">
        <fact key="withholding_tax"><xsl:copy-of select="cbc:TaxAmount"/></fact>
      </xsl:for-each>
      <fact key="prepaid"><xsl:copy-of select="cbc:PrepaidAmount"/></fact>
      <fact key="rounding"><xsl:copy-of select="cbc:PayableRoundingAmount"/></fact>
      <fact key="payable" strong="yes"><xsl:copy-of select="cbc:PayableAmount"/></fact>
      <fact key="payable"><xsl:copy-of select="cbc:PayableAlternativeAmount"/></fact>
    </totals>
  </xsl:template>

  <xsl:template name="payment">
    <xsl:variable name="due" select="cbc:DueDate | cac:PaymentMeans/cbc:PaymentDueDate"/>
    <xsl:variable name="has_several" select="$due != string($due[1])"/>
    <section key="payment">
      <xsl:for-each select="cac:PaymentMeans">
        <fact key="payment_means" list="payment_means">
          <xsl:copy-of select="cbc:PaymentMeansCode"/><xsl:copy-of select="cbc:PaymentChannelCode"/><xsl:copy-of select="cbc:InstructionNote"/>
        </fact>
        <xsl:choose>
          <xsl:when test="$has_several"><fact key="due_date"><xsl:copy-of select="cbc:PaymentDueDate"/></fact></xsl:when>
          <xsl:otherwise><shown><xsl:copy-of select="cbc:PaymentDueDate"/></shown></xsl:otherwise>
        </xsl:choose>
        <xsl:for-each select="cbc:PaymentID | cbc:InstructionID"><fact key="payment_id"><xsl:copy-of select="."/></fact></xsl:for-each>
        <xsl:for-each select="cac:PayeeFinancialAccount">
          <fact key="account"><xsl:copy-of select="cbc:ID"/></fact>
          <fact key="account_name"><xsl:copy-of select="cbc:Name"/></fact>
          <fact key="currency"><xsl:copy-of select="cbc:CurrencyCode"/></fact>
          <fact key="note"><xsl:copy-of select="cbc:PaymentNote"/></fact>
          <xsl:apply-templates select="cac:FinancialInstitutionBranch"/>
        </xsl:for-each>
        <xsl:for-each select="cac:CardAccount">
          <fact key="card"><xsl:copy-of select="cbc:PrimaryAccountNumberID"/><xsl:copy-of select="cbc:NetworkID"/></fact>
          <fact key="card_holder"><xsl:copy-of select="cbc:HolderName"/></fact>
        </xsl:for-each>
        <fact key="mandate"><xsl:copy-of select="cac:PaymentMandate/cbc:ID"/></fact>
        <fact key="debited_account">
          <xsl:copy-of select="cac:PaymentMandate/cac:PayerFinancialAccount/cbc:ID | cac:PayerFinancialAccount/cbc:ID"/>
        </fact>
      </xsl:for-each>
      <xsl:for-each select="cac:PaymentTerms">
        <xsl:for-each select="cbc:Note"><fact key="payment_terms"><xsl:copy-of select="."/></fact></xsl:for-each>
        <fact key="discount"><xsl:copy-of select="cbc:SettlementDiscountPercent"/></fact>
        <fact key="penalty"><xsl:copy-of select="cbc:PenaltySurchargePercent"/></fact>
        <fact key="period">
          <xsl:for-each select="cac:SettlementPeriod | cac:PenaltyPeriod">
            <xsl:call-template name="period"/><xsl:copy-of select="cbc:DurationMeasure | cbc:Description"/>
          </xsl:for-each>
        </fact>
        <fact key="percent"><xsl:copy-of select="cbc:PaymentPercent"/></fact>
        <fact key="amount"><xsl:copy-of select="cbc:Amount"/></fact>
        <fact key="due_date"><xsl:copy-of select="cbc:PaymentDueDate | cbc:InstallmentDueDate"/></fact>
      </xsl:for-each>
    </section>
  </xsl:template>

  <xsl:template match="cac:FinancialInstitutionBranch">
    <fact key="bank">
      <xsl:copy-of select="cac:FinancialInstitution/cbc:Name"/><xsl:copy-of select="cbc:Name"/>
      <xsl:copy-of select="cac:FinancialInstitution/cbc:ID"/>
      <xsl:if test="cbc:ID != string(cac:FinancialInstitution/cbc:ID)"><xsl:copy-of select="cbc:ID"/></xsl:if>
      <shown><xsl:copy-of select="cbc:ID"/></shown>
      <xsl:apply-templates select="cac:FinancialInstitution/cac:Address | cac:Address" mode="in-one-line"/>
    </fact>
  </xsl:template>
</xsl:stylesheet>
