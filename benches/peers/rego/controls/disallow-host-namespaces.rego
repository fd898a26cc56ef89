package controls.disallow_host_namespaces

import data.lib.pods

violation contains {"control": "disallow-host-namespaces", "msg": "sharing the host namespaces is not allowed"} if {
	some name in ["hostNetwork", "hostPID", "hostIPC"]
	pods.spec[name] == true
}
