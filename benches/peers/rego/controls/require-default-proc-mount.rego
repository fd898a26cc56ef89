package controls.require_default_proc_mount

import data.lib.pods

violation contains {"control": "require-default-proc-mount", "msg": "the default /proc masks are required"} if {
	some container in pods.containers
	container.securityContext.procMount != "Default"
}
