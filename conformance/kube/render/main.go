// Command helm renders a chart as `helm template` does, and does nothing else: in place of the whole program, whose
// other commands need ten times as many packages.
//
// usage: helm template NAME CHART_DIR --namespace NS --no-hooks --kube-version V [--values FILE]...
package main

import (
	"flag"
	"fmt"
	"os"
	"path"

	"helm.sh/helm/v4/pkg/chart/common"
	chartutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	dependencies "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	manifests "helm.sh/helm/v4/pkg/release/v1/util"
)

func main() {
	if err := render(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

func render(args []string) error {
	if len(args) < 3 || args[0] != "template" {
		return fmt.Errorf("only `template NAME CHART_DIR [flags]` is here")
	}
	name, dir := args[1], args[2]
	values := map[string]any{}
	flags := flag.NewFlagSet("helm", flag.ContinueOnError)
	namespace := flags.String("namespace", "default", "namespace of the release")
	version := flags.String("kube-version", "v1.36.3", "version of Kubernetes")
	flags.Bool("no-hooks", true, "hooks are always left out")
	flags.Func("values", "file with values; later ones win", func(file string) error {
		data, err := os.Open(file)
		if err != nil {
			return err
		}
		defer data.Close()
		more, err := loader.LoadValues(data)
		if err == nil {
			values = loader.MergeMaps(values, more)
		}
		return err
	})
	if err := flags.Parse(args[3:]); err != nil {
		return err
	}
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return err
	}
	if err := dependencies.ProcessDependencies(chart, values); err != nil {
		return err
	}
	kube, err := common.ParseKubeVersion(*version)
	if err != nil {
		return err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	release := common.ReleaseOptions{Name: name, Namespace: *namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	for file := range files {
		if path.Base(file) == "NOTES.txt" {
			delete(files, file)
		}
	}
	_, objects, err := manifests.SortManifests(files, nil, manifests.InstallOrder)
	if err != nil {
		return err
	}
	for _, object := range objects {
		fmt.Printf("---\n# Source: %s\n%s\n", object.Name, object.Content)
	}
	return nil
}
