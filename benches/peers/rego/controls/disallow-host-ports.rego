package controls.disallow_host_ports

import data.lib.pods

violation contains {"control": "disallow-host-ports", "msg": "host ports are not allowed"} if {
	some container in pods.containers
	some port in container.ports
	port.hostPort != 0
}
