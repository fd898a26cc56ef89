package controls.restrict_selinux

import data.lib.pods

violation contains {"control": "restrict-selinux", "msg": "only the SELinux types of containers are allowed, and neither user nor role"} if {
	some context in pods.contexts
	type := context.seLinuxOptions.type
	not type in ["container_t", "container_init_t", "container_kvm_t", "container_engine_t"]
}

violation contains {"control": "restrict-selinux", "msg": "only the SELinux types of containers are allowed, and neither user nor role"} if {
	some context in pods.contexts
	some name in ["user", "role"]
	context.seLinuxOptions[name] != ""
}
