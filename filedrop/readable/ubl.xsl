<?xml version="1.0" encoding="UTF-8"?>
<!-- A UBL 2 document as a sheet (see common.xsl). -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"
    exclude-result-prefixes="cac cbc">
  <xsl:include href="common.xsl"/>
  <xsl:include href="ubl_lines.xsl"/>
  <xsl:include href="ubl_amounts.xsl"/>

  <xsl:template match="/*">
    <sheet number="{normalize-space(cbc:ID)}">
      <xsl:attribute name="kind">
        <xsl:choose>
          <xsl:when test="cbc:InvoiceTypeCode and contains($credit_notes,
              concat(' ', normalize-space(cbc:InvoiceTypeCode), ' '))">CreditNote</xsl:when>
          <xsl:otherwise><xsl:value-of select="local-name()"/></xsl:otherwise>
        </xsl:choose>
      </xsl:attribute>
      <facts><xsl:call-template name="facts"/></facts>
      <parties>
        <xsl:apply-templates select="cac:AccountingSupplierParty | cac:SellerSupplierParty | cac:DespatchSupplierParty
            | cac:SenderParty" mode="party"/>
        <xsl:apply-templates select="cac:AccountingCustomerParty | cac:BuyerCustomerParty | cac:DeliveryCustomerParty
            | cac:ReceiverParty" mode="party"/>
        <xsl:apply-templates select="cac:OriginatorCustomerParty | cac:PayeeParty | cac:TaxRepresentativeParty
            | cac:Shipment/cac:Consignment/cac:CarrierParty" mode="party"/>
        <xsl:apply-templates select="cac:Delivery | cac:Shipment/cac:Delivery" mode="party"/>
      </parties>
      <xsl:apply-templates select="cac:DocumentResponse"/>
      <xsl:call-template name="lines"/>
      <xsl:call-template name="allowances"/>
      <xsl:call-template name="taxes"/>
      <xsl:call-template name="prepayments"/>
      <xsl:apply-templates select="(cac:LegalMonetaryTotal | cac:AnticipatedMonetaryTotal)[1]"/>
      <xsl:call-template name="payment"/>
      <texts key="notes"><xsl:for-each select="cbc:Note"><p><xsl:value-of select="."/></p></xsl:for-each></texts>
      <xsl:call-template name="attachments"/>
    </sheet>
  </xsl:template>

  <xsl:template name="facts">
    <fact key="type" list="document_type"><xsl:value-of select="cbc:InvoiceTypeCode | cbc:CreditNoteTypeCode"/></fact>
    <fact key="order_response" list="response"><xsl:value-of select="cbc:OrderResponseCode"/></fact>
    <fact key="issue_date"><xsl:value-of select="cbc:IssueDate"/></fact>
    <fact key="due_date"><xsl:value-of select="(cbc:DueDate | cac:PaymentMeans/cbc:PaymentDueDate)[1]"/></fact>
    <fact key="tax_point_date"><xsl:value-of select="cbc:TaxPointDate"/></fact>
    <xsl:for-each select="cac:InvoicePeriod"><fact key="period"><xsl:call-template name="period"/></fact></xsl:for-each>
    <fact key="valid_until"><xsl:value-of select="cac:ValidityPeriod/cbc:EndDate"/></fact>
    <fact key="currency"><xsl:value-of select="cbc:DocumentCurrencyCode"/></fact>
    <fact key="buyer_reference"><xsl:value-of select="cbc:BuyerReference | cbc:CustomerReference"/></fact>
    <fact key="order"><xsl:value-of select="cac:OrderReference/cbc:ID"/></fact>
    <fact key="sales_order"><xsl:value-of select="cac:OrderReference/cbc:SalesOrderID | cbc:SalesOrderID"/></fact>
    <fact key="quotation"><xsl:value-of select="cac:QuotationDocumentReference/cbc:ID"/></fact>
    <xsl:for-each select="cac:BillingReference/*[self::cac:InvoiceDocumentReference or self::cac:CreditNoteDocumentReference]">
      <fact key="preceding_invoice"><xsl:value-of select="normalize-space(concat(cbc:ID, ' ', cbc:IssueDate))"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:DiscrepancyResponse">
      <fact key="discrepancy"><xsl:value-of select="normalize-space(
          concat(cbc:ReferenceID, ' ', cbc:ResponseCode, ' ', cbc:Description))"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:ContractDocumentReference | cac:Contract">
      <fact key="contract"><xsl:value-of select="cbc:ID"/></fact>
    </xsl:for-each>
    <fact key="project">
      <xsl:value-of select="cac:ProjectReference/cbc:ID | cac:AdditionalDocumentReference[cbc:DocumentTypeCode = 50]/cbc:ID"/>
    </fact>
    <!-- An order's originator asked for the goods, an invoice's for tenders. -->
    <xsl:variable name="is_order" select="boolean(cac:OrderLine)"/>
    <fact key="requisition"><xsl:value-of select="cac:OriginatorDocumentReference[$is_order]/cbc:ID"/></fact>
    <fact key="tender"><xsl:value-of select="cac:OriginatorDocumentReference[not($is_order)]/cbc:ID"/></fact>
    <xsl:for-each select="cac:AdditionalDocumentReference[cbc:DocumentTypeCode = 130]">
      <fact key="invoiced_object"><xsl:apply-templates select="cbc:ID" mode="with-scheme"/></fact>
    </xsl:for-each>
    <fact key="despatch_advice"><xsl:value-of select="cac:DespatchDocumentReference/cbc:ID"/></fact>
    <fact key="receipt_advice"><xsl:value-of select="cac:ReceiptDocumentReference/cbc:ID"/></fact>
    <xsl:for-each select="cac:DeliveryTerms">
      <fact key="delivery_terms">
        <xsl:value-of select="normalize-space(concat(cbc:ID, ' ', cac:DeliveryLocation/cbc:ID))"/>
      </fact>
      <fact key="delivery_terms"><xsl:value-of select="cbc:SpecialTerms"/></fact>
    </xsl:for-each>
    <fact key="accounting_cost"><xsl:value-of select="cbc:AccountingCost"/></fact>
    <fact key="shipment"><xsl:value-of select="cac:Shipment/cbc:ID"/></fact>
  </xsl:template>

  <xsl:template match="*" mode="party">
    <xsl:apply-templates select="cac:Party[1]" mode="inside">
      <xsl:with-param name="role" select="local-name()"/>
      <xsl:with-param name="contacts" select="cac:DeliveryContact"/>
    </xsl:apply-templates>
  </xsl:template>

  <xsl:template match="cac:PayeeParty | cac:TaxRepresentativeParty | cac:SenderParty | cac:ReceiverParty | cac:CarrierParty"
      mode="party">
    <xsl:apply-templates select="." mode="inside"><xsl:with-param name="role" select="local-name()"/></xsl:apply-templates>
  </xsl:template>

  <xsl:template match="cac:Delivery" mode="party">
    <party role="Delivery">
      <line><xsl:value-of select="normalize-space(cac:DeliveryParty/cac:PartyName/cbc:Name)"/></line>
      <line><xsl:value-of select="normalize-space(cac:DeliveryLocation/cbc:Name)"/></line>
      <xsl:apply-templates select="(cac:DeliveryLocation/cac:Address | cac:DeliveryAddress)[1]" mode="address"/>
      <fact key="location_id"><xsl:value-of select="cac:DeliveryLocation/cbc:ID"/></fact>
      <fact key="delivery_date"><xsl:value-of select="concat(cbc:ActualDeliveryDate, ' ', cbc:ActualDeliveryTime)"/></fact>
      <xsl:for-each select="cac:RequestedDeliveryPeriod | cac:PromisedDeliveryPeriod | cac:EstimatedDeliveryPeriod">
        <fact key="{local-name()}"><xsl:call-template name="period"/></fact>
      </xsl:for-each>
    </party>
  </xsl:template>

  <xsl:template match="*" mode="inside">
    <xsl:param name="role"/>
    <xsl:param name="contacts" select="/.."/>
    <xsl:variable name="legal" select="string(cac:PartyLegalEntity/cbc:RegistrationName)"/>
    <xsl:variable name="trading" select="string(cac:PartyName/cbc:Name)"/>
    <party role="{$role}">
      <line><xsl:value-of select="normalize-space($legal)"/></line>
      <xsl:if test="$legal != $trading"><line><xsl:value-of select="normalize-space($trading)"/></line></xsl:if>
      <xsl:apply-templates select="cac:PostalAddress" mode="address"/>
      <xsl:for-each select="cac:PartyLegalEntity/cbc:CompanyID">
        <fact key="company_id"><xsl:value-of select="."/></fact>
      </xsl:for-each>
      <xsl:for-each select="cac:PartyTaxScheme[cbc:CompanyID]">
        <xsl:choose>
          <xsl:when test="cac:TaxScheme/cbc:ID = 'VAT'"><fact key="vat_id"><xsl:value-of select="cbc:CompanyID"/></fact></xsl:when>
          <xsl:otherwise><fact key="tax_id"><xsl:value-of select="cbc:CompanyID"/></fact></xsl:otherwise>
        </xsl:choose>
      </xsl:for-each>
      <fact key="participant"><xsl:apply-templates select="cbc:EndpointID[1]" mode="with-scheme"/></fact>
      <xsl:for-each select="cac:PartyIdentification/cbc:ID">
        <fact key="party_id"><xsl:apply-templates select="." mode="with-scheme"/></fact>
      </xsl:for-each>
      <xsl:for-each select="cac:Contact | $contacts">
        <fact key="contact"><xsl:value-of select="cbc:Name"/></fact>
        <fact key="telephone"><xsl:value-of select="cbc:Telephone"/></fact>
        <fact key="email"><xsl:value-of select="cbc:ElectronicMail"/></fact>
      </xsl:for-each>
    </party>
  </xsl:template>

  <xsl:template match="*" mode="address">
    <line><xsl:value-of select="normalize-space(concat(cbc:StreetName, ' ', cbc:BuildingNumber))"/></line>
    <line><xsl:value-of select="normalize-space(cbc:AdditionalStreetName)"/></line>
    <xsl:for-each select="cac:AddressLine/cbc:Line">
      <line><xsl:value-of select="normalize-space(.)"/></line>
    </xsl:for-each>
    <line><xsl:value-of select="normalize-space(cbc:Postbox)"/></line>
    <line><xsl:value-of select="normalize-space(concat(cbc:PostalZone, ' ', cbc:CityName))"/></line>
    <line><xsl:value-of select="normalize-space(cbc:CountrySubentity)"/></line>
    <line><xsl:value-of select="normalize-space(cac:Country/cbc:IdentificationCode)"/></line>
  </xsl:template>

  <xsl:template name="period">
    <xsl:if test="cbc:StartDate or cbc:EndDate">
      <xsl:value-of select="concat(cbc:StartDate, ' ', cbc:StartTime, ' – ', cbc:EndDate, ' ', cbc:EndTime)"/>
    </xsl:if>
  </xsl:template>

  <xsl:template match="cac:DocumentResponse">
    <section key="response">
      <fact key="response_code" list="response"><xsl:value-of select="cac:Response/cbc:ResponseCode"/></fact>
      <xsl:for-each select="cac:DocumentReference">
        <fact key="answers"><xsl:value-of select="normalize-space(concat(cbc:ID, ' ', cbc:IssueDate))"/></fact>
        <fact key="type" list="document_type"><xsl:value-of select="cbc:DocumentTypeCode"/></fact>
      </xsl:for-each>
      <fact key="effective_date"><xsl:value-of select="cac:Response/cbc:EffectiveDate"/></fact>
      <xsl:for-each select="cac:Response/cbc:Description">
        <fact key="description"><xsl:value-of select="."/></fact>
      </xsl:for-each>
      <xsl:for-each select="cac:Response/cac:Status">
        <fact key="reason" list="status_reason"><xsl:value-of select="cbc:StatusReasonCode[not(@listID = 'OPStatusAction')]"/></fact>
        <fact key="requested_action" list="status_action">
          <xsl:value-of select="cbc:StatusReasonCode[@listID = 'OPStatusAction']"/>
        </fact>
        <xsl:for-each select="cbc:StatusReason"><fact key="explanation"><xsl:value-of select="."/></fact></xsl:for-each>
        <xsl:for-each select="cac:Condition">
          <fact key="explanation"><xsl:apply-templates select="." mode="condition"/></fact>
        </xsl:for-each>
      </xsl:for-each>
    </section>
    <table key="lines">
      <column key="line"/><column key="response_code"/><column key="reason"/><column key="explanation"/>
      <xsl:for-each select="cac:LineResponse">
        <!-- It is copied to each row, and so copied short. -->
        <xsl:variable name="line" select="substring(cac:LineReference/cbc:LineID, 1, 100)"/>
        <xsl:for-each select="cac:Response">
          <row>
            <cell><xsl:value-of select="$line"/></cell>
            <cell list="response"><xsl:value-of select="cbc:ResponseCode"/></cell>
            <cell list="status_reason"><xsl:value-of select="cac:Status/cbc:StatusReasonCode"/></cell>
            <cell>
              <xsl:for-each select="cbc:Description | cac:Status/cbc:StatusReason">
                <detail><xsl:value-of select="."/></detail>
              </xsl:for-each>
              <xsl:for-each select="cac:Status/cac:Condition">
                <detail><xsl:apply-templates select="." mode="condition"/></detail>
              </xsl:for-each>
            </cell>
          </row>
        </xsl:for-each>
      </xsl:for-each>
    </table>
  </xsl:template>

  <xsl:template match="cac:Condition" mode="condition">
    <xsl:value-of select="cbc:AttributeID"/>
    <xsl:if test="cbc:AttributeID and cbc:Description">: </xsl:if>
    <xsl:value-of select="cbc:Description"/>
  </xsl:template>

  <xsl:template name="attachments">
    <xsl:variable name="references" select="cac:AdditionalDocumentReference[cac:Attachment
            or not(cbc:DocumentTypeCode = 50 or cbc:DocumentTypeCode = 130)]
        | cac:OriginatorDocumentReference[cac:Attachment] | cac:DocumentResponse/cac:DocumentReference[cac:Attachment]"/>
    <attachments>
      <xsl:for-each select="$references">
        <attachment id="{cbc:ID}" number="{cac:Attachment/cbc:EmbeddedDocumentBinaryObject/@filedrop-number}"
            name="{cac:Attachment/cbc:EmbeddedDocumentBinaryObject/@filename}"
            uri="{cac:Attachment/cac:ExternalReference/cbc:URI}">
          <xsl:value-of select="(cbc:DocumentDescription | cbc:DocumentType)[1]"/>
        </attachment>
      </xsl:for-each>
    </attachments>
  </xsl:template>
</xsl:stylesheet>
