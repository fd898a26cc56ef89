package controls.disallow_probe_hosts

import data.lib.pods

actions contains container[probe] if {
	some container in pods.started
	some probe in ["livenessProbe", "readinessProbe", "startupProbe"]
}

actions contains container.lifecycle[hook] if {
	some container in pods.started
	some hook in ["postStart", "preStop"]
}

violation contains {"control": "disallow-probe-hosts", "msg": "probes and lifecycle hooks may only reach the pod itself"} if {
	some action in actions
	some kind in ["httpGet", "tcpSocket"]
	action[kind].host != ""
}
