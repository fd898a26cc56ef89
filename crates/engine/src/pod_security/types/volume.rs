//! Volumes.

use super::meta::{LABEL_SELECTOR, OBJECT_META};
use super::*;

pub static LOCAL_REFERENCE: Struct = shape("LocalObjectReference", &[text("name")]);

pub static OBJECT_FIELD_SELECTOR: Struct =
    shape("ObjectFieldSelector", &[text("apiVersion"), text("fieldPath")]);
pub static RESOURCE_FIELD_SELECTOR: Struct =
    shape("ResourceFieldSelector", &[text("containerName"), text("resource"), of("divisor", Quantity)]);

const fn source(key: &'static str, shape: &'static Struct) -> Field {
    via("VolumeSource", key, Kind::Struct(shape))
}

pub static VOLUME: Struct = shape(
    "Volume",
    &[
        text("name"),
        source("configMap", &CONFIG_MAP),
        source("secret", &SECRET),
        source("emptyDir", &EMPTY_DIR),
        source("projected", &PROJECTED),
        source("persistentVolumeClaim", &CLAIM),
        source("hostPath", &HOST_PATH),
        source("downwardAPI", &DOWNWARD_API),
        source("csi", &CSI),
        source("ephemeral", &EPHEMERAL),
        source("image", &IMAGE),
        source("nfs", &NFS),
        source("gcePersistentDisk", &GCE_DISK),
        source("awsElasticBlockStore", &AWS_STORE),
        source("gitRepo", &GIT_REPO),
        source("iscsi", &ISCSI),
        source("glusterfs", &GLUSTERFS),
        source("rbd", &RBD),
        source("flexVolume", &FLEX),
        source("cinder", &CINDER),
        source("cephfs", &CEPHFS),
        source("flocker", &FLOCKER),
        source("fc", &FC),
        source("azureFile", &AZURE_FILE),
        source("vsphereVolume", &VSPHERE),
        source("quobyte", &QUOBYTE),
        source("azureDisk", &AZURE_DISK),
        source("photonPersistentDisk", &PHOTON_DISK),
        source("portworxVolume", &PORTWORX),
        source("scaleIO", &SCALE_IO),
        source("storageos", &STORAGE_OS),
    ],
);

static HOST_PATH: Struct = shape("HostPathVolumeSource", &[text("path"), named("type", "v1.HostPathType")]);
static EMPTY_DIR: Struct =
    shape("EmptyDirVolumeSource", &[named("medium", "v1.StorageMedium"), of("sizeLimit", Quantity)]);
static GCE_DISK: Struct = shape(
    "GCEPersistentDiskVolumeSource",
    &[text("pdName"), text("fsType"), int32("partition"), flag("readOnly")],
);
static AWS_STORE: Struct = shape(
    "AWSElasticBlockStoreVolumeSource",
    &[text("volumeID"), text("fsType"), int32("partition"), flag("readOnly")],
);
static GIT_REPO: Struct =
    shape("GitRepoVolumeSource", &[text("repository"), text("revision"), text("directory")]);
const KEYS: Kind = List(&Kind::Struct(&KEY_TO_PATH));
static KEY_TO_PATH: Struct = shape("KeyToPath", &[text("key"), text("path"), int32("mode")]);
static SECRET: Struct = shape(
    "SecretVolumeSource",
    &[text("secretName"), of("items", KEYS), int32("defaultMode"), flag("optional")],
);
static CONFIG_MAP: Struct = shape(
    "ConfigMapVolumeSource",
    &[via("LocalObjectReference", "name", STRING), of("items", KEYS), int32("defaultMode"), flag("optional")],
);
static NFS: Struct = shape("NFSVolumeSource", &[text("server"), text("path"), flag("readOnly")]);
static ISCSI: Struct = shape(
    "ISCSIVolumeSource",
    &[
        text("targetPortal"),
        text("iqn"),
        int32("lun"),
        text("iscsiInterface"),
        text("fsType"),
        flag("readOnly"),
        of("portals", STRINGS),
        flag("chapAuthDiscovery"),
        flag("chapAuthSession"),
        one("secretRef", &LOCAL_REFERENCE),
        text("initiatorName"),
    ],
);
static GLUSTERFS: Struct =
    shape("GlusterfsVolumeSource", &[text("endpoints"), text("path"), flag("readOnly")]);
static CLAIM: Struct = shape("PersistentVolumeClaimVolumeSource", &[text("claimName"), flag("readOnly")]);
static RBD: Struct = shape(
    "RBDVolumeSource",
    &[
        of("monitors", STRINGS),
        text("image"),
        text("fsType"),
        text("pool"),
        text("user"),
        text("keyring"),
        one("secretRef", &LOCAL_REFERENCE),
        flag("readOnly"),
    ],
);
static FLEX: Struct = shape(
    "FlexVolumeSource",
    &[
        text("driver"),
        text("fsType"),
        one("secretRef", &LOCAL_REFERENCE),
        flag("readOnly"),
        of("options", STRING_MAP),
    ],
);
static CINDER: Struct = shape(
    "CinderVolumeSource",
    &[text("volumeID"), text("fsType"), flag("readOnly"), one("secretRef", &LOCAL_REFERENCE)],
);
static CEPHFS: Struct = shape(
    "CephFSVolumeSource",
    &[
        of("monitors", STRINGS),
        text("path"),
        text("user"),
        text("secretFile"),
        one("secretRef", &LOCAL_REFERENCE),
        flag("readOnly"),
    ],
);
static FLOCKER: Struct = shape("FlockerVolumeSource", &[text("datasetName"), text("datasetUUID")]);
static FC: Struct = shape(
    "FCVolumeSource",
    &[of("targetWWNs", STRINGS), int32("lun"), text("fsType"), flag("readOnly"), of("wwids", STRINGS)],
);
static AZURE_FILE: Struct =
    shape("AzureFileVolumeSource", &[text("secretName"), text("shareName"), flag("readOnly")]);
static VSPHERE: Struct = shape(
    "VsphereVirtualDiskVolumeSource",
    &[text("volumePath"), text("fsType"), text("storagePolicyName"), text("storagePolicyID")],
);
static QUOBYTE: Struct = shape(
    "QuobyteVolumeSource",
    &[text("registry"), text("volume"), flag("readOnly"), text("user"), text("group"), text("tenant")],
);
static AZURE_DISK: Struct = shape(
    "AzureDiskVolumeSource",
    &[
        text("diskName"),
        text("diskURI"),
        named("cachingMode", "v1.AzureDataDiskCachingMode"),
        text("fsType"),
        flag("readOnly"),
        named("kind", "v1.AzureDataDiskKind"),
    ],
);
static PHOTON_DISK: Struct = shape("PhotonPersistentDiskVolumeSource", &[text("pdID"), text("fsType")]);
static PORTWORX: Struct =
    shape("PortworxVolumeSource", &[text("volumeID"), text("fsType"), flag("readOnly")]);
static SCALE_IO: Struct = shape(
    "ScaleIOVolumeSource",
    &[
        text("gateway"),
        text("system"),
        one("secretRef", &LOCAL_REFERENCE),
        flag("sslEnabled"),
        text("protectionDomain"),
        text("storagePool"),
        text("storageMode"),
        text("volumeName"),
        text("fsType"),
        flag("readOnly"),
    ],
);
static STORAGE_OS: Struct = shape(
    "StorageOSVolumeSource",
    &[
        text("volumeName"),
        text("volumeNamespace"),
        text("fsType"),
        flag("readOnly"),
        one("secretRef", &LOCAL_REFERENCE),
    ],
);
static CSI: Struct = shape(
    "CSIVolumeSource",
    &[
        text("driver"),
        flag("readOnly"),
        text("fsType"),
        of("volumeAttributes", STRING_MAP),
        one("nodePublishSecretRef", &LOCAL_REFERENCE),
    ],
);
static IMAGE: Struct = shape("ImageVolumeSource", &[text("reference"), named("pullPolicy", "v1.PullPolicy")]);

const DOWNWARD_FILES: Kind = List(&Kind::Struct(&DOWNWARD_FILE));
static DOWNWARD_API: Struct =
    shape("DownwardAPIVolumeSource", &[of("items", DOWNWARD_FILES), int32("defaultMode")]);
static DOWNWARD_FILE: Struct = shape(
    "DownwardAPIVolumeFile",
    &[
        text("path"),
        one("fieldRef", &OBJECT_FIELD_SELECTOR),
        one("resourceFieldRef", &RESOURCE_FIELD_SELECTOR),
        int32("mode"),
    ],
);

static PROJECTED: Struct =
    shape("ProjectedVolumeSource", &[of("sources", List(&Kind::Struct(&PROJECTION))), int32("defaultMode")]);
static PROJECTION: Struct = shape(
    "VolumeProjection",
    &[
        one("secret", &SECRET_PROJECTION),
        one("downwardAPI", &DOWNWARD_PROJECTION),
        one("configMap", &CONFIG_MAP_PROJECTION),
        one("serviceAccountToken", &TOKEN_PROJECTION),
        one("clusterTrustBundle", &TRUST_PROJECTION),
        one("podCertificate", &CERTIFICATE_PROJECTION),
    ],
);
static SECRET_PROJECTION: Struct = shape(
    "SecretProjection",
    &[via("LocalObjectReference", "name", STRING), of("items", KEYS), flag("optional")],
);
static CONFIG_MAP_PROJECTION: Struct = shape(
    "ConfigMapProjection",
    &[via("LocalObjectReference", "name", STRING), of("items", KEYS), flag("optional")],
);
static DOWNWARD_PROJECTION: Struct = shape("DownwardAPIProjection", &[of("items", DOWNWARD_FILES)]);
static TOKEN_PROJECTION: Struct =
    shape("ServiceAccountTokenProjection", &[text("audience"), int64("expirationSeconds"), text("path")]);
static TRUST_PROJECTION: Struct = shape(
    "ClusterTrustBundleProjection",
    &[
        text("name"),
        text("signerName"),
        one("labelSelector", &LABEL_SELECTOR),
        flag("optional"),
        text("path"),
    ],
);
static CERTIFICATE_PROJECTION: Struct = shape(
    "PodCertificateProjection",
    &[
        text("signerName"),
        text("keyType"),
        int32("maxExpirationSeconds"),
        text("credentialBundlePath"),
        text("keyPath"),
        text("certificateChainPath"),
        of("userAnnotations", STRING_MAP),
    ],
);

static EPHEMERAL: Struct = shape("EphemeralVolumeSource", &[one("volumeClaimTemplate", &CLAIM_TEMPLATE)]);
static CLAIM_TEMPLATE: Struct =
    shape("PersistentVolumeClaimTemplate", &[one("metadata", &OBJECT_META), one("spec", &CLAIM_SPEC)]);
static CLAIM_SPEC: Struct = shape(
    "PersistentVolumeClaimSpec",
    &[
        of("accessModes", List(&Kind::Text("v1.PersistentVolumeAccessMode"))),
        one("selector", &LABEL_SELECTOR),
        one("resources", &VOLUME_RESOURCES),
        text("volumeName"),
        text("storageClassName"),
        named("volumeMode", "v1.PersistentVolumeMode"),
        one("dataSource", &TYPED_LOCAL_REFERENCE),
        one("dataSourceRef", &TYPED_REFERENCE),
        text("volumeAttributesClassName"),
    ],
);
static VOLUME_RESOURCES: Struct =
    shape("VolumeResourceRequirements", &[of("limits", RESOURCES), of("requests", RESOURCES)]);
static TYPED_LOCAL_REFERENCE: Struct =
    shape("TypedLocalObjectReference", &[text("apiGroup"), text("kind"), text("name")]);
static TYPED_REFERENCE: Struct =
    shape("TypedObjectReference", &[text("apiGroup"), text("kind"), text("name"), text("namespace")]);
