<?xml version="1.0" encoding="UTF-8"?>
<!-- What a goods receipt needs: the shipment of a despatch advice, with its transport and its packages. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
    xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"
    xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2">

  <xsl:template match="cac:Shipment">
    <section key="shipment">
      <fact key="shipment"><xsl:copy-of select="cbc:ID"/></fact>
      <xsl:for-each select="cbc:Information | cbc:HandlingInstructions | cbc:DeliveryInstructions | cbc:SpecialInstructions">
        <fact key="instructions"><xsl:copy-of select="."/></fact>
      </xsl:for-each>
      <fact key="instructions"><xsl:copy-of select="cbc:HandlingCode"/></fact>
      <fact key="priority"><xsl:copy-of select="cbc:ShippingPriorityLevelCode"/></fact>
      <fact key="gross_weight"><xsl:copy-of select="cbc:GrossWeightMeasure"/></fact>
      <fact key="net_weight"><xsl:copy-of select="cbc:NetWeightMeasure | cbc:NetNetWeightMeasure"/></fact>
      <fact key="volume"><xsl:copy-of select="cbc:GrossVolumeMeasure | cbc:NetVolumeMeasure"/></fact>
      <fact key="packages"><xsl:copy-of select="cbc:TotalTransportHandlingUnitQuantity | cbc:TotalGoodsItemQuantity"/></fact>
      <xsl:for-each select="cac:Consignment">
        <fact key="consignment"><xsl:copy-of select="cbc:ID | cbc:CarrierAssignedID | cbc:ConsigneeAssignedID | cbc:ConsignorAssignedID"/></fact>
        <xsl:for-each select="cbc:Information | cbc:SpecialInstructions | cbc:DeliveryInstructions">
          <fact key="instructions"><xsl:copy-of select="."/></fact>
        </xsl:for-each>
        <fact key="gross_weight"><xsl:copy-of select="cbc:GrossWeightMeasure"/></fact>
        <fact key="volume"><xsl:copy-of select="cbc:GrossVolumeMeasure"/></fact>
        <xsl:apply-templates select="cac:OriginalDespatchTransportationService"/>
      </xsl:for-each>
      <xsl:for-each select="cac:ShipmentStage">
        <fact key="transport_mode" list="transport_mode"><xsl:copy-of select="cbc:TransportModeCode"/></fact>
        <fact key="vehicle"><xsl:copy-of select="cbc:TransportMeansTypeCode | cac:TransportMeans/*/cbc:LicensePlateID | cac:TransportMeans/cbc:RegistrationNationalityID
            | cac:TransportMeans/*/cbc:TrainID | cac:TransportMeans/*/cbc:VesselID | cac:TransportMeans/*/cbc:VesselName
            | cac:TransportMeans/*/cbc:AircraftID"/></fact>
      </xsl:for-each>
    </section>
    <table key="packages">
      <column key="party_id"/><column key="package"/><column key="content"/>
      <xsl:apply-templates select="cac:TransportHandlingUnit" mode="row"/>
    </table>
  </xsl:template>

  <xsl:template match="cac:OriginalDespatchTransportationService">
    <fact key="transport_mode"><xsl:copy-of select="cbc:TransportServiceCode"/></fact>
    <xsl:for-each select="cac:EnvironmentalEmission">
      <fact key="emission"><xsl:copy-of select="cbc:EnvironmentalEmissionTypeCode"/><xsl:copy-of select="cbc:ValueMeasure"/><xsl:copy-of select="cbc:Description"/></fact>
    </xsl:for-each>
    <xsl:for-each select="cac:TransportEquipment">
      <fact key="equipment">
        <xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:TransportEquipmentTypeCode"/><xsl:copy-of select="cbc:Description"/>
        <xsl:copy-of select="cac:ProviderParty/cac:PartyName/cbc:Name | cac:ProviderParty/cac:PartyIdentification/cbc:ID"/>
        <xsl:copy-of select="cac:GoodsItem/cac:Item/cac:StandardItemIdentification/cbc:ID"/>
      </fact>
      <xsl:for-each select="cac:MeasurementDimension">
        <fact key="equipment"><xsl:call-template name="measure"/></fact>
      </xsl:for-each>
    </xsl:for-each>
  </xsl:template>

  <!-- A package of the shipment. Packages inside of it are details of its content. -->
  <xsl:template match="cac:TransportHandlingUnit" mode="row">
    <row>
      <cell><xsl:copy-of select="cbc:ID"/></cell>
      <cell list="package_type">
        <xsl:copy-of select="cbc:TransportHandlingUnitTypeCode"/>
        <xsl:apply-templates select="." mode="properties"/>
      </cell>
      <cell><xsl:apply-templates select="cac:Package | cac:ActualPackage | cac:HandlingUnitDespatchLine | cac:GoodsItem" mode="details"/></cell>
    </row>
  </xsl:template>

  <!-- The packages that a line is in. -->
  <xsl:template match="cac:Shipment" mode="details">
    <!-- NA is written where a line's shipment has no number of its own. -->
    <shown><xsl:copy-of select="cbc:ID[. = 'NA']"/></shown>
    <detail key="shipment"><xsl:copy-of select="cbc:ID[. != 'NA']"/></detail>
    <detail key="gross_weight"><xsl:copy-of select="cbc:GrossWeightMeasure"/></detail>
    <detail key="net_weight"><xsl:copy-of select="cbc:NetWeightMeasure"/></detail>
    <detail key="volume"><xsl:copy-of select="cbc:GrossVolumeMeasure | cbc:NetVolumeMeasure"/></detail>
    <xsl:for-each select="cac:TransportHandlingUnit">
      <detail key="package" list="package_type">
        <xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:TransportHandlingUnitTypeCode"/>
      </detail>
      <xsl:apply-templates select="." mode="properties"/>
      <xsl:apply-templates select="cac:Package | cac:ActualPackage | cac:GoodsItem" mode="details"/>
    </xsl:for-each>
    <xsl:apply-templates select="cac:GoodsItem" mode="details"/>
  </xsl:template>

  <xsl:template match="cac:TransportHandlingUnit" mode="properties">
    <xsl:for-each select="cbc:ShippingMarks"><detail key="shipping_marks"><xsl:copy-of select="."/></detail></xsl:for-each>
    <xsl:for-each select="cbc:HandlingInstructions"><detail key="instructions"><xsl:copy-of select="."/></detail></xsl:for-each>
    <detail key="instructions"><xsl:copy-of select="cbc:HandlingCode"/></detail>
    <detail key="dangerous"><xsl:copy-of select="cbc:HazardousRiskIndicator"/></detail>
    <detail key="packages"><xsl:copy-of select="cbc:TotalPackageQuantity | cbc:TotalGoodsItemQuantity"/></detail>
    <xsl:for-each select="cac:MeasurementDimension | cac:MinimumTemperature | cac:MaximumTemperature">
      <detail><xsl:call-template name="measure"/></detail>
    </xsl:for-each>
  </xsl:template>

  <xsl:template match="cac:Package | cac:ActualPackage | cac:ContainedPackage" mode="details">
    <detail key="package" list="package_type">
      <xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:Quantity"/><xsl:copy-of select="cbc:PackagingTypeCode"/>
      <xsl:copy-of select="cbc:PackingMaterial"/>
    </detail>
    <detail key="returnable"><xsl:copy-of select="cbc:ReturnableMaterialIndicator"/></detail>
    <xsl:for-each select="cac:MeasurementDimension"><detail><xsl:call-template name="measure"/></detail></xsl:for-each>
    <xsl:apply-templates select="cac:GoodsItem | cac:ContainedPackage" mode="details"/>
  </xsl:template>

  <xsl:template match="cac:HandlingUnitDespatchLine" mode="details">
    <detail key="line"><xsl:copy-of select="cbc:ID"/><xsl:copy-of select="cbc:DeliveredQuantity"/></detail>
  </xsl:template>

  <xsl:template match="cac:GoodsItem" mode="details">
    <detail key="item">
      <xsl:copy-of select="cbc:ID | cbc:TraceID"/><xsl:copy-of select="cbc:Description"/><xsl:copy-of select="cbc:Quantity"/>
      <xsl:copy-of select="cac:Item/cbc:Name | cac:Item/*/cbc:ID"/>
    </detail>
    <detail key="gross_weight"><xsl:copy-of select="cbc:GrossWeightMeasure"/></detail>
    <detail key="net_weight"><xsl:copy-of select="cbc:NetWeightMeasure"/></detail>
    <detail key="volume"><xsl:copy-of select="cbc:GrossVolumeMeasure"/></detail>
  </xsl:template>
</xsl:stylesheet>
