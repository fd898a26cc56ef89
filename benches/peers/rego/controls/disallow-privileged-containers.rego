package controls.disallow_privileged_containers

import data.lib.pods

violation contains {"control": "disallow-privileged-containers", "msg": "privileged containers are not allowed"} if {
	some container in pods.containers
	container.securityContext.privileged == true
}
