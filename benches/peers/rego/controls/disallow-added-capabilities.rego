package controls.disallow_added_capabilities

import data.lib.pods

allowed := {
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
	"NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

violation contains {"control": "disallow-added-capabilities", "msg": "only capabilities of the default set may be added"} if {
	some container in pods.containers
	some capability in container.securityContext.capabilities.add
	not capability in allowed
}
