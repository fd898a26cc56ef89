package controls.restrict_sysctls

import data.lib.pods

safe := {
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
	"net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time",
	"net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
}

violation contains {"control": "restrict-sysctls", "msg": "only safe sysctls may be set"} if {
	some sysctl in pods.spec.securityContext.sysctls
	not sysctl.name in safe
}
