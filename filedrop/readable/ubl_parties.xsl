<?xml version="1.0" encoding="UTF-8"?>
<!-- The parties of a UBL document, with their addresses, and where it delivers. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">

  <xsl:template name="parties">
    <parties>
      <xsl:apply-templates select="cac:AccountingSupplierParty | cac:SellerSupplierParty | cac:DespatchSupplierParty
          | cac:SenderParty" mode="party"/>
      <xsl:apply-templates select="cac:AccountingCustomerParty | cac:BuyerCustomerParty | cac:DeliveryCustomerParty
          | cac:ReceiverParty" mode="party"/>
      <xsl:apply-templates select="cac:OriginatorCustomerParty | cac:PayeeParty | cac:TaxRepresentativeParty
          | cac:Shipment/cac:Consignment/cac:CarrierParty | cac:FreightForwarderParty
          | cac:DocumentResponse/cac:IssuerParty | cac:DocumentResponse/cac:RecipientParty" mode="party"/>
      <xsl:apply-templates select="cac:Delivery | cac:Shipment/cac:Delivery" mode="party"/>
      <xsl:apply-templates select="cac:Shipment/cac:Delivery/cac:Despatch/cac:DespatchAddress
          | cac:Shipment/cac:OriginAddress" mode="party"/>
    </parties>
  </xsl:template>

  <xsl:template match="*" mode="party">
    <party role="{local-name()}">
      <xsl:apply-templates select="cac:Party[1]" mode="names"/>
      <xsl:apply-templates select="cac:Party[1]/cac:PostalAddress" mode="address"/>
      <xsl:apply-templates select="cac:Party[1]" mode="facts"/>
      <fact key="customer_account"><xsl:copy-of select="cbc:CustomerAssignedAccountID | cbc:SupplierAssignedAccountID | cbc:AdditionalAccountID"/></fact>
      <xsl:apply-templates select="cac:DeliveryContact | cac:AccountingContact | cac:BuyerContact | cac:SellerContact
          | cac:DespatchContact" mode="contact"/>
    </party>
  </xsl:template>

  <xsl:template match="cac:PayeeParty | cac:TaxRepresentativeParty | cac:SenderParty | cac:ReceiverParty | cac:CarrierParty
      | cac:FreightForwarderParty | cac:IssuerParty | cac:RecipientParty" mode="party">
    <party role="{local-name()}">
      <xsl:apply-templates select="." mode="names"/>
      <xsl:apply-templates select="cac:PostalAddress" mode="address"/>
      <xsl:apply-templates select="." mode="facts"/>
    </party>
  </xsl:template>

  <xsl:template match="cac:DespatchAddress | cac:OriginAddress" mode="party">
    <party role="{local-name()}"><xsl:apply-templates select="." mode="address"/></party>
  </xsl:template>

  <xsl:template match="cac:Delivery" mode="party">
    <party role="Delivery">
      <xsl:apply-templates select="cac:DeliveryParty" mode="names"/>
      <line><xsl:copy-of select="cac:DeliveryLocation/cbc:Name"/></line>
      <line><xsl:copy-of select="cac:DeliveryLocation/cbc:Description"/></line>
      <xsl:apply-templates select="cac:DeliveryLocation/cac:Address | cac:DeliveryAddress" mode="address"/>
      <xsl:apply-templates select="cac:DeliveryParty/cac:PostalAddress" mode="address"/>
      <fact key="location_id" scheme="yes"><xsl:copy-of select="cac:DeliveryLocation/cbc:ID"/></fact>
      <xsl:apply-templates select="cac:DeliveryParty" mode="facts"/>
      <xsl:call-template name="delivery"/>
    </party>
  </xsl:template>

  <!-- Of the document's delivery, or of a line's: when, how much, and how it is tracked. -->
  <xsl:template name="delivery">
    <fact key="delivery_id"><xsl:copy-of select="cbc:ID"/></fact>
    <fact key="quantity"><xsl:copy-of select="cbc:Quantity"/></fact>
    <fact key="delivery_date"><xsl:copy-of select="cbc:ActualDeliveryDate"/><xsl:copy-of select="cbc:ActualDeliveryTime"/></fact>
    <fact key="latest_delivery"><xsl:copy-of select="cbc:LatestDeliveryDate"/><xsl:copy-of select="cbc:LatestDeliveryTime"/></fact>
    <xsl:for-each select="cac:RequestedDeliveryPeriod | cac:PromisedDeliveryPeriod | cac:EstimatedDeliveryPeriod">
      <fact key="{local-name()}"><xsl:call-template name="period"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:Despatch">
      <fact key="despatch_requested"><xsl:copy-of select="cbc:RequestedDespatchDate"/><xsl:copy-of select="cbc:RequestedDespatchTime"/></fact>
      <fact key="despatch_estimated"><xsl:copy-of select="cbc:EstimatedDespatchDate"/><xsl:copy-of select="cbc:EstimatedDespatchTime"/></fact>
      <fact key="despatch_date"><xsl:copy-of select="cbc:ActualDespatchDate"/><xsl:copy-of select="cbc:ActualDespatchTime"/></fact>
    </xsl:for-each>
    <fact key="tracking"><xsl:copy-of select="cbc:TrackingID"/></fact>
    <xsl:for-each select="cac:Shipment">
      <!-- NA is written where a shipment has no number of its own. -->
      <shown><xsl:copy-of select="cbc:ID[. = 'NA']"/></shown>
      <fact key="shipment"><xsl:copy-of select="cbc:ID[. != 'NA']"/></fact>
      <fact key="priority"><xsl:copy-of select="cbc:ShippingPriorityLevelCode"/></fact>
      <fact key="instructions"><xsl:copy-of select="cbc:HandlingInstructions | cbc:Information | cbc:SpecialInstructions"/></fact>
      <fact key="shipping_marks"><xsl:copy-of select="cac:TransportHandlingUnit/cbc:ShippingMarks"/></fact>
    </xsl:for-each>
  </xsl:template>

  <xsl:template match="*" mode="names">
    <xsl:variable name="legal" select="substring(cac:PartyLegalEntity/cbc:RegistrationName, 1, 500)"/>
    <line><xsl:copy-of select="cac:PartyLegalEntity/cbc:RegistrationName"/></line>
    <xsl:for-each select="cac:PartyName/cbc:Name">
      <xsl:choose>
        <xsl:when test="string() = $legal"><shown><xsl:copy-of select="."/></shown></xsl:when>
        <xsl:otherwise><line><xsl:copy-of select="."/></line></xsl:otherwise>
      </xsl:choose>
    </xsl:for-each>
    <xsl:for-each select="cac:Person">
      <line><xsl:copy-of select="cbc:FirstName"/><xsl:copy-of select="cbc:MiddleName"/><xsl:copy-of select="cbc:FamilyName"/></line>
    </xsl:for-each>
  </xsl:template>

  <xsl:template match="*" mode="address">
    <line><xsl:copy-of select="cbc:StreetName"/><xsl:copy-of select="cbc:BuildingNumber"/></line>
    <line><xsl:copy-of select="cbc:AdditionalStreetName"/></line>
    <line><xsl:copy-of select="cbc:BuildingName"/><xsl:copy-of select="cbc:Floor"/><xsl:copy-of select="cbc:Room"/></line>
    <line><xsl:copy-of select="cbc:Department"/></line>
    <line><xsl:copy-of select="cbc:MarkAttention | cbc:MarkCare | cbc:InhouseMail"/></line>
    <xsl:for-each select="cac:AddressLine/cbc:Line"><line><xsl:copy-of select="."/></line></xsl:for-each>
    <line><xsl:copy-of select="cbc:Postbox"/></line>
    <line><xsl:copy-of select="cbc:PostalZone"/><xsl:copy-of select="cbc:CityName"/><xsl:copy-of select="cbc:CitySubdivisionName"/></line>
    <line>
      <xsl:copy-of select="cbc:CountrySubentity"/><xsl:copy-of select="cbc:CountrySubentityCode"/>
      <xsl:copy-of select="cbc:Region"/><xsl:copy-of select="cbc:District"/>
    </line>
    <line><xsl:copy-of select="cac:Country/cbc:Name"/><xsl:copy-of select="cac:Country/cbc:IdentificationCode"/></line>
    <fact key="location_id" scheme="yes"><xsl:copy-of select="cbc:ID"/></fact>
    <xsl:for-each select="cac:LocationCoordinate">
      <fact key="coordinates">
        <xsl:copy-of select="cbc:CoordinateSystemCode"/>
        <xsl:copy-of select="cbc:LatitudeDegreesMeasure | cbc:LatitudeMinutesMeasure | cbc:LatitudeDirectionCode"/>
        <xsl:copy-of select="cbc:LongitudeDegreesMeasure | cbc:LongitudeMinutesMeasure | cbc:LongitudeDirectionCode"/>
      </fact>
    </xsl:for-each>
  </xsl:template>

  <xsl:template match="*" mode="in-one-line">
    <xsl:copy-of select="cbc:StreetName"/><xsl:copy-of select="cbc:BuildingNumber"/>
    <xsl:copy-of select="cbc:AdditionalStreetName | cbc:BuildingName | cbc:Department | cac:AddressLine/cbc:Line | cbc:Postbox"/>
    <xsl:copy-of select="cbc:PostalZone"/><xsl:copy-of select="cbc:CityName"/><xsl:copy-of select="cbc:CountrySubentity"/>
    <xsl:copy-of select="cac:Country/cbc:Name"/><xsl:copy-of select="cac:Country/cbc:IdentificationCode"/>
  </xsl:template>

  <xsl:template match="*" mode="facts">
    <xsl:for-each select="cac:PartyLegalEntity">
      <fact key="company_id"><xsl:copy-of select="cbc:CompanyID"/></fact>
      <fact key="legal_form"><xsl:copy-of select="cbc:CompanyLegalForm | cbc:CompanyLegalFormCode"/></fact>
      <xsl:for-each select="cac:RegistrationAddress">
        <fact key="registered_in"><xsl:apply-templates select="." mode="in-one-line"/></fact>
      </xsl:for-each>
      <fact key="registered_in"><xsl:copy-of select="cac:CorporateRegistrationScheme/*[self::cbc:ID or self::cbc:Name]"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:PartyTaxScheme">
      <xsl:choose>
        <xsl:when test="cac:TaxScheme/cbc:ID = 'VAT'">
          <fact key="vat_id"><xsl:copy-of select="cbc:CompanyID"/><shown><xsl:copy-of select="cac:TaxScheme/cbc:ID"/></shown></fact>
        </xsl:when>
        <xsl:otherwise>
          <fact key="tax_id">
            <xsl:copy-of select="cbc:CompanyID"/>
            <xsl:if test="cbc:CompanyID and cac:TaxScheme/*">·</xsl:if>
            <xsl:copy-of select="cac:TaxScheme/cbc:ID"/>
          </fact>
        </xsl:otherwise>
      </xsl:choose>
      <fact key="tax_name"><xsl:copy-of select="cbc:RegistrationName"/></fact>
      <fact key="tax_id"><xsl:copy-of select="cac:TaxScheme/*[self::cbc:Name or self::cbc:TaxTypeCode or self::cbc:CurrencyCode]"/><xsl:copy-of select="cbc:TaxLevelCode"/></fact>
      <fact key="exemption"><xsl:copy-of select="cbc:ExemptionReason | cbc:ExemptionReasonCode"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cbc:EndpointID">
      <fact key="participant" scheme="yes"><xsl:copy-of select="."/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:PartyIdentification/cbc:ID">
      <fact key="party_id" scheme="yes"><xsl:copy-of select="."/></fact>
    </xsl:for-each>
    <xsl:apply-templates select="cac:Contact" mode="contact"/>
    <xsl:for-each select="cac:Person">
      <fact key="job_title"><xsl:copy-of select="cbc:JobTitle"/></fact>
      <xsl:for-each select="cac:IdentityDocumentReference">
        <fact key="identity_document"><xsl:copy-of select="cbc:DocumentType"/><xsl:copy-of select="cbc:ID"/></fact>
      </xsl:for-each>
    </xsl:for-each>
    <fact key="website"><xsl:copy-of select="cbc:WebsiteURI"/></fact>
    <fact key="industry"><xsl:copy-of select="cbc:IndustryClassificationCode"/></fact>
  </xsl:template>

  <xsl:template match="*" mode="contact">
    <fact key="contact"><xsl:copy-of select="cbc:Name"/></fact>
    <fact key="party_id"><xsl:copy-of select="cbc:ID"/></fact>
    <fact key="telephone"><xsl:copy-of select="cbc:Telephone"/></fact>
    <fact key="fax"><xsl:copy-of select="cbc:Telefax"/></fact>
    <fact key="email"><xsl:copy-of select="cbc:ElectronicMail"/></fact>
    <fact key="note"><xsl:copy-of select="cbc:Note"/></fact>
  </xsl:template>
</xsl:stylesheet>
