package controls.disallow_privilege_escalation

import data.lib.pods

violation contains {"control": "disallow-privilege-escalation", "msg": "every container must set allowPrivilegeEscalation to false"} if {
	some container in pods.containers
	not container.securityContext.allowPrivilegeEscalation == false
}
