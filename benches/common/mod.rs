//! What the benches of expressions share: a document and a clock.

use std::time::{Duration, Instant};

/// Nanoseconds of one call, the best of several rounds.
pub fn best(f: impl Fn() -> bool) -> f64 {
    let time = |n: u32| {
        let start = Instant::now();
        for _ in 0..n {
            assert!(f());
        }
        start.elapsed()
    };
    let mut n = 1;
    while time(n) < Duration::from_millis(10) {
        n *= 2;
    }
    (0..15).map(|_| time(n).as_secs_f64() * 1e9 / f64::from(n)).fold(f64::INFINITY, f64::min)
}

/// A Pod with as many containers as make 20 kB.
pub fn pod() -> String {
    let mut text = String::from(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n  namespace: web\n  labels: {app.kubernetes.io/name: shop, tier: front}\n  annotations: {checksum/config: abc, team: web}\nspec:\n  serviceAccountName: shop\n  hostNetwork: false\n  volumes:\n  - {name: tmp, emptyDir: {}}\n  - {name: config, configMap: {name: shop}}\n  containers:\n",
    );
    for i in 0..23 {
        text += &format!(
            "  - name: app-{i}\n    image: registry.example.com/team/service-{i}:1.{i}.0\n    imagePullPolicy: IfNotPresent\n    args: [--listen=0.0.0.0:{port}, --log-level=info, --config=/etc/shop/config.yaml]\n    ports: [{{name: http, containerPort: {port}, protocol: TCP}}, {{name: metrics, containerPort: {metrics}, protocol: TCP}}]\n    env: [{{name: LEVEL, value: info}}, {{name: SECRET, value: none}}, {{name: REGION, value: eu-central-1}}]\n    resources: {{requests: {{cpu: 100m, memory: 128Mi}}, limits: {{cpu: 500m, memory: 256Mi}}}}\n    securityContext: {{privileged: false, runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}\n    livenessProbe: {{httpGet: {{path: /healthz, port: {port}}}, periodSeconds: 10, timeoutSeconds: 2}}\n    volumeMounts: [{{name: tmp, mountPath: /tmp}}, {{name: config, mountPath: /etc/shop, readOnly: true}}]\n",
            port = 8000 + i,
            metrics = 9000 + i,
        );
    }
    text
}
