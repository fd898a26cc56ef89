package controls.disallow_host_process

import data.lib.pods

violation contains {"control": "disallow-host-process", "msg": "HostProcess containers are not allowed"} if {
	some context in pods.contexts
	context.windowsOptions.hostProcess == true
}
