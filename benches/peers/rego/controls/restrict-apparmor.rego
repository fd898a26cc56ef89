package controls.restrict_apparmor

import data.lib.pods

violation contains {"control": "restrict-apparmor", "msg": "the AppArmor profile must be RuntimeDefault or Localhost"} if {
	some context in pods.contexts
	type := context.appArmorProfile.type
	not type in ["RuntimeDefault", "Localhost"]
}

violation contains {"control": "restrict-apparmor", "msg": "the AppArmor profile must be RuntimeDefault or Localhost"} if {
	some name, profile in pods.pod.metadata.annotations
	startswith(name, "container.apparmor.security.beta.kubernetes.io/")
	profile != "runtime/default"
	not startswith(profile, "localhost/")
}
