package controls.restrict_seccomp

import data.lib.pods

violation contains {"control": "restrict-seccomp", "msg": "the seccomp profile must be RuntimeDefault or Localhost where it is set"} if {
	some context in pods.contexts
	type := context.seccompProfile.type
	not type in ["RuntimeDefault", "Localhost"]
}
