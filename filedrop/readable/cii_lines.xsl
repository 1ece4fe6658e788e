<?xml version="1.0" encoding="UTF-8"?>
<!-- The lines of a CII invoice. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100">

  <xsl:template name="lines">
    <table key="lines">
      <column key="line"/><column key="item"/><column key="quantity" number="yes"/><column key="price" number="yes"/>
      <column key="tax_rate" number="yes"/><column key="amount" number="yes"/>
      <xsl:apply-templates select="$deal/ram:IncludedSupplyChainTradeLineItem" mode="row"/>
    </table>
  </xsl:template>

  <xsl:template match="*" mode="row">
    <xsl:variable name="about" select="ram:AssociatedDocumentLineDocument"/>
    <xsl:variable name="agreed" select="ram:SpecifiedLineTradeAgreement"/>
    <xsl:variable name="delivered" select="ram:SpecifiedLineTradeDelivery"/>
    <xsl:variable name="settled" select="ram:SpecifiedLineTradeSettlement"/>
    <row>
      <cell><xsl:copy-of select="$about/ram:LineID"/></cell>
      <cell>
        <xsl:copy-of select="ram:SpecifiedTradeProduct/ram:Name"/>
        <detail key="parent_line"><xsl:copy-of select="$about/ram:ParentLineID"/></detail>
        <detail list="line_kind"><xsl:copy-of select="$about/ram:LineStatusReasonCode"/></detail>
        <detail key="status"><xsl:copy-of select="$about/ram:LineStatusCode"/></detail>
        <xsl:apply-templates select="ram:SpecifiedTradeProduct"/>
        <xsl:for-each select="$agreed/ram:BuyerOrderReferencedDocument">
          <detail key="order"><xsl:copy-of select="ram:IssuerAssignedID"/><xsl:copy-of select="ram:FormattedIssueDateTime/*"/></detail>
          <detail key="order_line"><xsl:copy-of select="ram:LineID"/></detail>
        </xsl:for-each>
        <xsl:for-each select="$agreed/ram:ContractReferencedDocument">
          <detail key="contract"><xsl:call-template name="reference"/></detail>
        </xsl:for-each>
        <xsl:for-each select="$agreed/ram:QuotationReferencedDocument">
          <detail key="quotation"><xsl:call-template name="reference"/></detail>
        </xsl:for-each>
        <xsl:for-each select="$settled/ram:InvoiceReferencedDocument">
          <detail key="preceding_invoice"><xsl:call-template name="reference"/></detail>
        </xsl:for-each>
        <xsl:for-each select="$settled/ram:AdditionalReferencedDocument | $agreed/ram:AdditionalReferencedDocument">
          <xsl:choose>
            <xsl:when test="ram:TypeCode = 130"><detail key="invoiced_object"><xsl:call-template name="reference"/></detail></xsl:when>
            <xsl:otherwise><detail key="document"><xsl:call-template name="reference"/><xsl:copy-of select="ram:URIID"/></detail></xsl:otherwise>
          </xsl:choose>
        </xsl:for-each>
        <xsl:for-each select="$delivered/ram:DespatchAdviceReferencedDocument">
          <detail key="despatch_advice"><xsl:call-template name="reference"/></detail>
        </xsl:for-each>
        <xsl:for-each select="$delivered/ram:DeliveryNoteReferencedDocument">
          <detail key="delivery_note"><xsl:call-template name="reference"/></detail>
        </xsl:for-each>
        <xsl:for-each select="$delivered/ram:ReceivingAdviceReferencedDocument">
          <detail key="receipt_advice"><xsl:call-template name="reference"/></detail>
        </xsl:for-each>
        <detail key="delivery_date"><xsl:copy-of select="$delivered/ram:ActualDeliverySupplyChainEvent/ram:OccurrenceDateTime/*"/></detail>
        <xsl:for-each select="$delivered/ram:ShipToTradeParty | $delivered/ram:UltimateShipToTradeParty">
          <detail key="{local-name()}">
            <xsl:copy-of select="ram:Name"/><xsl:copy-of select="ram:ID | ram:GlobalID"/>
            <xsl:copy-of select="ram:PostalTradeAddress/*"/>
          </detail>
        </xsl:for-each>
        <xsl:for-each select="$settled/ram:BillingSpecifiedPeriod">
          <detail key="period"><xsl:call-template name="period"/></detail>
        </xsl:for-each>
        <xsl:apply-templates select="$settled/ram:SpecifiedTradeAllowanceCharge" mode="details"/>
        <detail key="accounting_cost"><xsl:copy-of select="$settled/ram:ReceivableSpecifiedTradeAccountingAccount/*"/></detail>
        <xsl:for-each select="$about/ram:IncludedNote"><detail key="note"><xsl:call-template name="note"/></detail></xsl:for-each>
      </cell>
      <cell>
        <xsl:copy-of select="$delivered/ram:BilledQuantity"/>
        <detail key="free_quantity"><xsl:copy-of select="$delivered/ram:ChargeFreeQuantity"/></detail>
        <detail key="package"><xsl:copy-of select="$delivered/ram:PackageQuantity"/></detail>
      </cell>
      <cell><xsl:call-template name="price"/></cell>
      <cell>
        <xsl:copy-of select="$settled/ram:ApplicableTradeTax/ram:RateApplicablePercent"/>
        <xsl:for-each select="$settled/ram:ApplicableTradeTax">
          <detail list="tax_category"><xsl:call-template name="category"/></detail>
          <detail key="tax_amount"><xsl:copy-of select="ram:CalculatedAmount"/></detail>
          <detail key="taxable_amount"><xsl:copy-of select="ram:BasisAmount"/></detail>
        </xsl:for-each>
      </cell>
      <cell>
        <xsl:for-each select="$settled/ram:SpecifiedTradeSettlementLineMonetarySummation">
          <xsl:copy-of select="ram:LineTotalAmount"/>
          <detail key="charge_total"><xsl:copy-of select="ram:ChargeTotalAmount"/></detail>
          <detail key="allowance_total"><xsl:copy-of select="ram:AllowanceTotalAmount | ram:TotalAllowanceChargeAmount"/></detail>
          <detail key="tax_total"><xsl:copy-of select="ram:TaxTotalAmount"/></detail>
          <detail key="total_with_tax"><xsl:copy-of select="ram:GrandTotalAmount"/></detail>
        </xsl:for-each>
      </cell>
    </row>
  </xsl:template>

  <xsl:template match="ram:SpecifiedTradeProduct">
    <xsl:variable name="name" select="substring(ram:Name, 1, 500)"/>
    <xsl:for-each select="ram:Description">
      <xsl:choose>
        <xsl:when test=". = $name"><shown><xsl:copy-of select="."/></shown></xsl:when>
        <xsl:otherwise><detail><xsl:copy-of select="."/></detail></xsl:otherwise>
      </xsl:choose>
    </xsl:for-each>
    <xsl:for-each select="ram:SellerAssignedID"><detail key="sellers_item"><xsl:copy-of select="."/></detail></xsl:for-each>
    <xsl:for-each select="ram:BuyerAssignedID"><detail key="buyers_item"><xsl:copy-of select="."/></detail></xsl:for-each>
    <xsl:for-each select="ram:GlobalID | ram:ID"><detail key="standard_item"><xsl:copy-of select="."/></detail></xsl:for-each>
    <detail key="manufacturers_item"><xsl:copy-of select="ram:ManufacturerAssignedID | ram:IndustryAssignedID | ram:ModelID"/></detail>
    <detail key="brand"><xsl:copy-of select="ram:BrandName"/><xsl:copy-of select="ram:ModelName"/></detail>
    <detail key="lot"><xsl:copy-of select="ram:BatchID | ram:IndividualTradeProductInstance/ram:BatchID"/></detail>
    <detail key="serial"><xsl:copy-of select="ram:IndividualTradeProductInstance/ram:SupplierAssignedSerialID"/></detail>
    <xsl:for-each select="ram:DesignatedProductClassification">
      <detail key="classification" scheme="yes"><xsl:copy-of select="ram:ClassCode"/><xsl:copy-of select="ram:ClassName"/></detail>
    </xsl:for-each>
    <detail key="origin"><xsl:copy-of select="ram:OriginTradeCountry/*"/></detail>
    <xsl:for-each select="ram:ApplicableProductCharacteristic">
      <detail>
        <label><xsl:copy-of select="ram:Description"/></label>
        <xsl:copy-of select="ram:Value"/><xsl:copy-of select="ram:ValueMeasure"/>
        <xsl:if test="ram:TypeCode">(<xsl:copy-of select="ram:TypeCode"/>)</xsl:if>
      </detail>
    </xsl:for-each>
    <xsl:for-each select="ram:IncludedReferencedProduct">
      <detail key="content">
        <xsl:copy-of select="ram:UnitQuantity"/><xsl:copy-of select="ram:Name"/><xsl:copy-of select="ram:Description"/>
        <xsl:copy-of select="ram:ID | ram:GlobalID | ram:SellerAssignedID | ram:BuyerAssignedID"/>
      </detail>
    </xsl:for-each>
  </xsl:template>

  <!-- The price before a discount or a charge, where it says more than the price. -->
  <xsl:template name="price">
    <xsl:variable name="price" select="ram:SpecifiedLineTradeAgreement/ram:NetPriceProductTradePrice"/>
    <xsl:variable name="gross" select="ram:SpecifiedLineTradeAgreement/ram:GrossPriceProductTradePrice"/>
    <xsl:variable name="applied" select="$gross/ram:AppliedTradeAllowanceCharge"/>
    <xsl:variable name="charges" select="$applied[ram:ChargeIndicator/* = 'true' or ram:ChargeIndicator/* = '1']"/>
    <xsl:variable name="is_raised" select="not($applied) and number($gross/ram:ChargeAmount) &lt; number($price/ram:ChargeAmount)"/>
    <xsl:copy-of select="$price/ram:ChargeAmount"/>
    <xsl:apply-templates select="$price/ram:BasisQuantity" mode="per"/>
    <xsl:choose>
      <xsl:when test="$applied or number($gross/ram:ChargeAmount) != number($price/ram:ChargeAmount)">
        <xsl:choose>
          <xsl:when test="$is_raised or ($charges and count($charges) = count($applied))">
            <detail key="price_before_charge"><xsl:copy-of select="$gross/ram:ChargeAmount"/></detail>
          </xsl:when>
          <xsl:otherwise><detail key="gross_price"><xsl:copy-of select="$gross/ram:ChargeAmount"/></detail></xsl:otherwise>
        </xsl:choose>
        <xsl:choose>
          <xsl:when test="number($gross/ram:BasisQuantity) = number($price/ram:BasisQuantity)">
            <shown><xsl:copy-of select="$gross/ram:BasisQuantity"/></shown>
          </xsl:when>
          <xsl:otherwise><xsl:apply-templates select="$gross/ram:BasisQuantity" mode="per"/></xsl:otherwise>
        </xsl:choose>
        <xsl:apply-templates select="$applied" mode="details"/>
      </xsl:when>
      <xsl:otherwise><shown><xsl:copy-of select="$gross/ram:ChargeAmount | $gross/ram:BasisQuantity"/></shown></xsl:otherwise>
    </xsl:choose>
  </xsl:template>

  <xsl:template match="*" mode="per">
    <xsl:choose>
      <xsl:when test="number(.) = 1"><shown><xsl:copy-of select="."/></shown></xsl:when>
      <xsl:otherwise><detail key="per"><xsl:copy-of select="."/></detail></xsl:otherwise>
    </xsl:choose>
  </xsl:template>
</xsl:stylesheet>
