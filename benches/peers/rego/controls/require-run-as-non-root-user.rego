package controls.require_run_as_non_root_user

import data.lib.pods

violation contains {"control": "require-run-as-non-root-user", "msg": "the user 0 is not allowed"} if {
	some context in pods.contexts
	context.runAsUser == 0
}
