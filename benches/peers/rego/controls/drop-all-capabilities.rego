package controls.drop_all_capabilities

import data.lib.pods

violation contains {"control": "drop-all-capabilities", "msg": "every container must drop ALL and may add NET_BIND_SERVICE only"} if {
	some container in pods.containers
	not drops_all(container)
}

violation contains {"control": "drop-all-capabilities", "msg": "every container must drop ALL and may add NET_BIND_SERVICE only"} if {
	some container in pods.containers
	some capability in container.securityContext.capabilities.add
	capability != "NET_BIND_SERVICE"
}

drops_all(container) if "ALL" in container.securityContext.capabilities.drop
