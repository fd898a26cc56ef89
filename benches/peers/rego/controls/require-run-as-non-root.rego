package controls.require_run_as_non_root

import data.lib.pods

violation contains {"control": "require-run-as-non-root", "msg": "every container must run as non-root"} if {
	some container in pods.containers
	not non_root(container)
}

# A container's own field takes precedence over the Pod's.
non_root(container) if object.get(container, ["securityContext", "runAsNonRoot"], of_pod) == true

of_pod := object.get(pods.spec, ["securityContext", "runAsNonRoot"], false)
