package controls.disallow_host_path

import data.lib.pods

violation contains {"control": "disallow-host-path", "msg": "hostPath volumes are not allowed"} if {
	some volume in pods.spec.volumes
	volume.hostPath
}
