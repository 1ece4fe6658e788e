<?xml version="1.0" encoding="UTF-8"?>
<!-- What a UBL document says of amounts besides its lines: allowances, tax, totals, payment. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
    exclude-result-prefixes="cac cbc">

  <!-- In these a multiplier is a percentage; elsewhere it may be a fraction. -->
  <xsl:variable name="has_percentages" select="contains(/*/cbc:CustomizationID, 'en16931')
      or contains(/*/cbc:CustomizationID, 'urn:peppol:') or contains(/*/cbc:CustomizationID, 'urn:fdc:peppol')"/>

  <xsl:template name="allowances">
    <table key="allowances_and_charges">
      <column key="kind"/><column key="reason"/><column key="base_amount" number="yes"/><column key="percent" number="yes"/>
      <column key="tax_rate" number="yes"/><column key="amount" number="yes"/>
      <xsl:for-each select="cac:AllowanceCharge">
        <row>
          <cell list="allowance"><xsl:apply-templates select="cbc:ChargeIndicator" mode="boolean"/></cell>
          <cell><xsl:apply-templates select="." mode="reason"/></cell>
          <cell number="yes"><xsl:value-of select="cbc:BaseAmount"/></cell>
          <cell percent="yes"><xsl:value-of select="cbc:MultiplierFactorNumeric[$has_percentages]"/></cell>
          <cell number="yes" percent="yes"><xsl:value-of select="cac:TaxCategory/cbc:Percent"/></cell>
          <cell number="yes"><xsl:value-of select="cbc:Amount"/></cell>
        </row>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="cac:AllowanceCharge" mode="reason">
    <xsl:choose>
      <xsl:when test="normalize-space(cbc:AllowanceChargeReason)"><xsl:value-of select="cbc:AllowanceChargeReason"/></xsl:when>
      <xsl:otherwise><xsl:value-of select="cbc:AllowanceChargeReasonCode"/></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template name="taxes">
    <table key="taxes">
      <column key="tax_category"/><column key="tax_rate" number="yes"/><column key="taxable_amount" number="yes"/>
      <column key="tax_amount" number="yes"/>
      <xsl:for-each select="cac:TaxTotal/cac:TaxSubtotal">
        <row>
          <cell list="tax_category"><xsl:value-of select="cac:TaxCategory/cbc:ID"/>
            <xsl:for-each select="cac:TaxCategory/cbc:TaxExemptionReason"><detail><xsl:value-of select="."/></detail></xsl:for-each>
            <xsl:for-each select="cac:TaxCategory/cbc:TaxExemptionReasonCode"><detail><xsl:value-of select="."/></detail></xsl:for-each>
          </cell>
          <cell number="yes" percent="yes"><xsl:value-of select="cac:TaxCategory/cbc:Percent"/></cell>
          <cell number="yes" currency="{cbc:TaxableAmount/@currencyID}"><xsl:value-of select="cbc:TaxableAmount"/></cell>
          <cell number="yes" currency="{cbc:TaxAmount/@currencyID}"><xsl:value-of select="cbc:TaxAmount"/></cell>
        </row>
      </xsl:for-each>
    </table>
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
      <cell><xsl:value-of select="cbc:ID"/></cell>
      <cell><xsl:value-of select="cbc:InstructionID"/></cell>
      <cell><xsl:value-of select="cbc:PaidDate"/></cell>
      <cell currency="{cbc:PaidAmount/@currencyID}"><xsl:value-of select="cbc:PaidAmount"/></cell>
    </row>
  </xsl:template>

  <xsl:template match="cac:LegalMonetaryTotal | cac:AnticipatedMonetaryTotal">
    <totals>
      <fact key="line_total" currency="{cbc:LineExtensionAmount/@currencyID}"><xsl:value-of select="cbc:LineExtensionAmount"/></fact>
      <fact key="allowance_total" currency="{cbc:AllowanceTotalAmount/@currencyID}"><xsl:value-of select="cbc:AllowanceTotalAmount"/></fact>
      <fact key="charge_total" currency="{cbc:ChargeTotalAmount/@currencyID}"><xsl:value-of select="cbc:ChargeTotalAmount"/></fact>
      <fact key="total_without_tax" currency="{cbc:TaxExclusiveAmount/@currencyID}"><xsl:value-of select="cbc:TaxExclusiveAmount"/></fact>
      <xsl:for-each select="../cac:TaxTotal">
        <fact key="tax_total" currency="{cbc:TaxAmount/@currencyID}"><xsl:value-of select="cbc:TaxAmount"/></fact>
      </xsl:for-each>
      <fact key="total_with_tax" currency="{cbc:TaxInclusiveAmount/@currencyID}"><xsl:value-of select="cbc:TaxInclusiveAmount"/></fact>
      <fact key="prepaid" currency="{cbc:PrepaidAmount/@currencyID}"><xsl:value-of select="cbc:PrepaidAmount"/></fact>
      <fact key="rounding" currency="{cbc:PayableRoundingAmount/@currencyID}"><xsl:value-of select="cbc:PayableRoundingAmount"/></fact>
      <fact key="payable" currency="{cbc:PayableAmount/@currencyID}" strong="yes"><xsl:value-of select="cbc:PayableAmount"/></fact>
    </totals>
  </xsl:template>

  <xsl:template name="payment">
    <xsl:variable name="due" select="cbc:DueDate | cac:PaymentMeans/cbc:PaymentDueDate"/>
    <xsl:variable name="has_several" select="$due != string($due[1])"/>
    <section key="payment">
      <xsl:for-each select="cac:PaymentMeans">
        <fact key="payment_means" list="payment_means"><xsl:value-of select="cbc:PaymentMeansCode"/></fact>
        <fact key="due_date"><xsl:value-of select="cbc:PaymentDueDate[$has_several]"/></fact>
        <xsl:for-each select="cbc:PaymentID"><fact key="payment_id"><xsl:value-of select="."/></fact></xsl:for-each>
        <fact key="account"><xsl:value-of select="cac:PayeeFinancialAccount/cbc:ID"/></fact>
        <fact key="account_name"><xsl:value-of select="cac:PayeeFinancialAccount/cbc:Name"/></fact>
        <fact key="bank"><xsl:value-of select="(cac:PayeeFinancialAccount/cac:FinancialInstitutionBranch/cbc:ID
              | cac:PayeeFinancialAccount/cac:FinancialInstitutionBranch/cac:FinancialInstitution/cbc:ID)[1]"/></fact>
        <fact key="card"><xsl:value-of select="cac:CardAccount/cbc:PrimaryAccountNumberID"/></fact>
        <fact key="mandate"><xsl:value-of select="cac:PaymentMandate/cbc:ID"/></fact>
        <fact key="debited_account"><xsl:value-of select="cac:PaymentMandate/cac:PayerFinancialAccount/cbc:ID"/></fact>
      </xsl:for-each>
      <xsl:for-each select="cac:PaymentTerms">
        <xsl:for-each select="cbc:Note"><fact key="payment_terms"><xsl:value-of select="."/></fact></xsl:for-each>
        <fact key="discount" percent="yes"><xsl:value-of select="cbc:SettlementDiscountPercent"/></fact>
        <fact key="percent" percent="yes"><xsl:value-of select="cbc:PaymentPercent"/></fact>
        <fact key="amount" currency="{cbc:Amount/@currencyID}"><xsl:value-of select="cbc:Amount"/></fact>
        <fact key="due_date"><xsl:value-of select="(cbc:PaymentDueDate | cbc:InstallmentDueDate)[1]"/></fact>
      </xsl:for-each>
    </section>
  </xsl:template>
</xsl:stylesheet>
