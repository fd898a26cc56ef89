package controls.require_seccomp

import data.lib.pods

violation contains {"control": "require-seccomp", "msg": "every container needs the seccomp profile RuntimeDefault or Localhost"} if {
	some container in pods.containers
	not profile(container) in ["RuntimeDefault", "Localhost"]
}

# A container's own profile takes precedence over the Pod's.
profile(container) := object.get(container, ["securityContext", "seccompProfile", "type"], of_pod)

of_pod := object.get(pods.spec, ["securityContext", "seccompProfile", "type"], "")
