package controls.restrict_volume_types

import data.lib.pods

allowed := {
	"name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
	"persistentVolumeClaim", "projected", "secret",
}

violation contains {"control": "restrict-volume-types", "msg": "only types of volumes that the Restricted profile allows"} if {
	some volume in pods.spec.volumes
	some source, _ in volume
	not source in allowed
}
