<?xml version="1.0" encoding="UTF-8"?>
<!-- The parties of a CII invoice. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100">

  <xsl:template name="parties">
    <parties>
      <xsl:apply-templates select="$agreement/ram:SellerTradeParty" mode="party"/>
      <xsl:apply-templates select="$agreement/ram:BuyerTradeParty" mode="party"/>
      <xsl:apply-templates select="$settlement/ram:PayeeTradeParty | $agreement/ram:SellerTaxRepresentativeTradeParty
          | $delivery/ram:ShipToTradeParty" mode="party"/>
      <xsl:apply-templates select="$agreement/ram:SalesAgentTradeParty | $agreement/ram:BuyerAgentTradeParty
          | $agreement/ram:BuyerTaxRepresentativeTradeParty | $agreement/ram:ProductEndUserTradeParty
          | $agreement/ram:BuyerRequisitionerTradeParty
          | $delivery/ram:ShipFromTradeParty | $delivery/ram:UltimateShipToTradeParty
          | $settlement/ram:InvoicerTradeParty | $settlement/ram:InvoiceeTradeParty | $settlement/ram:PayerTradeParty"
          mode="party"/>
    </parties>
  </xsl:template>

  <xsl:template match="*" mode="party">
    <party role="{local-name()}">
      <line><xsl:copy-of select="ram:Name"/></line>
      <xsl:variable name="name" select="substring(ram:Name, 1, 500)"/>
      <xsl:for-each select="ram:SpecifiedLegalOrganization/ram:TradingBusinessName">
        <xsl:choose>
          <xsl:when test=". = $name"><shown><xsl:copy-of select="."/></shown></xsl:when>
          <xsl:otherwise><line><xsl:copy-of select="."/></line></xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
      <xsl:for-each select="ram:PostalTradeAddress">
        <line><xsl:copy-of select="ram:LineOne"/></line>
        <line><xsl:copy-of select="ram:LineTwo"/></line>
        <line><xsl:copy-of select="ram:LineThree"/></line>
        <line><xsl:copy-of select="ram:PostcodeCode"/><xsl:copy-of select="ram:CityName"/></line>
        <line><xsl:copy-of select="ram:CountrySubDivisionName"/></line>
        <line><xsl:copy-of select="ram:CountryID"/></line>
      </xsl:for-each>
      <fact key="role" list="party_role"><xsl:copy-of select="ram:RoleCode"/></fact>
      <fact key="company_id"><xsl:copy-of select="ram:SpecifiedLegalOrganization/ram:ID"/></fact>
      <fact key="legal_form"><xsl:copy-of select="ram:Description"/></fact>
      <xsl:for-each select="ram:SpecifiedLegalOrganization/ram:PostalTradeAddress">
        <fact key="registered_in">
          <xsl:copy-of select="ram:LineOne | ram:LineTwo | ram:LineThree"/><xsl:copy-of select="ram:PostcodeCode"/>
          <xsl:copy-of select="ram:CityName"/><xsl:copy-of select="ram:CountrySubDivisionName"/><xsl:copy-of select="ram:CountryID"/>
        </fact>
      </xsl:for-each>
      <xsl:for-each select="ram:SpecifiedTaxRegistration/ram:ID">
        <xsl:choose>
          <xsl:when test="@schemeID = 'VA'"><fact key="vat_id"><xsl:copy-of select="."/></fact></xsl:when>
          <xsl:otherwise><fact key="tax_id"><xsl:copy-of select="."/></fact></xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
      <fact key="participant" scheme="yes"><xsl:copy-of select="ram:URIUniversalCommunication/ram:URIID"/></fact>
      <xsl:for-each select="ram:ID | ram:GlobalID">
        <fact key="party_id" scheme="yes"><xsl:copy-of select="."/></fact>
      </xsl:for-each>
      <xsl:for-each select="ram:DefinedTradeContact">
        <fact key="contact"><xsl:copy-of select="ram:PersonName"/><xsl:copy-of select="ram:DepartmentName"/></fact>
        <fact key="role"><xsl:copy-of select="ram:TypeCode"/></fact>
        <fact key="telephone"><xsl:copy-of select="ram:TelephoneUniversalCommunication/ram:CompleteNumber"/></fact>
        <fact key="fax"><xsl:copy-of select="ram:FaxUniversalCommunication/ram:CompleteNumber"/></fact>
        <fact key="email"><xsl:copy-of select="ram:EmailURIUniversalCommunication/ram:URIID"/></fact>
      </xsl:for-each>
    </party>
  </xsl:template>
</xsl:stylesheet>
