package main

import (
	"encoding/json"
	"net"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.yaml.in/yaml/v3"

	"weir/internal/catalog/builtin"
	"weir/internal/config"
)

const packaging = "../../packaging/"

// instruction is a line of the container file.
type instruction struct{ name, rest string }

// stages are the instructions of each stage of the container file, and the first of each is its FROM.
func stages(t *testing.T) [][]instruction {
	t.Helper()
	text, err := os.ReadFile(packaging + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Fields("FROM WORKDIR COPY RUN ARG USER ENV VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD")
	var all [][]instruction
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		if !slices.Contains(known, name) {
			t.Fatalf("%s is no instruction", line)
		}
		if name == "FROM" {
			all = append(all, nil)
		}
		if len(all) == 0 {
			t.Fatalf("%s is in no stage", line)
		}
		all[len(all)-1] = append(all[len(all)-1], instruction{name, strings.TrimSpace(rest)})
	}
	return all
}

// image is the last stage, by names of instructions.
func image(t *testing.T) map[string][]string {
	t.Helper()
	all := stages(t)
	last := map[string][]string{}
	for _, i := range all[len(all)-1] {
		last[i.name] = append(last[i.name], i.rest)
	}
	return last
}

func one(t *testing.T, of map[string][]string, name string) string {
	t.Helper()
	if len(of[name]) != 1 {
		t.Fatalf("%d times %s, want one: %q", len(of[name]), name, of[name])
	}
	return of[name][0]
}

func execForm(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%s: %v; a shell, which the image does not have, would run it", text, err)
	}
	return list
}

// imageFile is the configuration that the image has where the program looks.
const imageFile = packaging + "container.yaml"

// configured is what the image's node makes of an environment, every variable of which it must read.
func configured(t *testing.T, env map[string]string) config.Config {
	t.Helper()
	read := map[string]bool{}
	cfg, err := config.Load(imageFile, func(name string) (string, bool) {
		read[name] = true
		value, ok := env[name]
		return value, ok
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name := range env {
		if !read[name] && strings.HasPrefix(name, "WEIR_") {
			t.Errorf("no setting reads %s", name)
		}
	}
	return cfg
}

func port(t *testing.T, address string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" {
		t.Fatalf("%q is reachable from outside of a container only without a host: %v", address, err)
	}
	return port
}

// The image has nothing but the program, which finds in it what its settings name, is not root, and is asked for its health by a command that there is.
func TestContainerFile(t *testing.T) {
	t.Parallel()
	i := image(t)
	if from := one(t, i, "FROM"); from != "scratch" {
		t.Errorf("the image is made from %s", from)
	}
	if i["ENV"] != nil {
		t.Errorf("ENV %q would win over a file that is mounted", i["ENV"])
	}
	cfg := configured(t, nil)
	if volume := one(t, i, "VOLUME"); volume != cfg.DataDir {
		t.Errorf("the volume is %s, the data directory %s", volume, cfg.DataDir)
	}
	if want, got := port(t, cfg.Server.Listen)+" "+port(t, cfg.Server.AdminListen), one(t, i, "EXPOSE"); got != want {
		t.Errorf("ports %s, the node listens on %s", got, want)
	}
	if signal := one(t, i, "STOPSIGNAL"); signal != "SIGTERM" { // which drains
		t.Errorf("it is stopped with %s", signal)
	}
	user := one(t, i, "USER")
	if strings.Trim(user, "123456789:0") != "" || strings.HasPrefix(user, "0") {
		t.Errorf("user %q, want numbers that are not root's", user) // Kubernetes cannot check names
	}
	copied := map[string]bool{}
	for _, c := range i["COPY"] {
		f := strings.Fields(c)
		if f[0] != "--from=build" {
			t.Errorf("COPY %s is not from what was built", c)
		}
		target := path.Clean(f[len(f)-1])
		copied[target] = true
		if target == service && f[1] != "/src/packaging/container.yaml" {
			t.Errorf("COPY %s is another file than the one that was read here", c)
		}
		if owned := slices.Contains(f, "--chown="+user); owned != (target == cfg.DataDir || target == "/tmp") {
			t.Errorf("COPY %s: the user can write: %t", c, owned)
		}
	}
	for _, want := range []string{"/weir", service, cfg.DataDir, "/tmp", "/etc/ssl/certs"} {
		if !copied[want] {
			t.Errorf("the image lacks %s", want)
		}
	}
	entry := execForm(t, one(t, i, "ENTRYPOINT"))
	_, health, _ := strings.Cut(one(t, i, "HEALTHCHECK"), "CMD ")
	for want, args := range map[string][]string{"serve": append(entry, execForm(t, one(t, i, "CMD"))...), "ready": execForm(t, health)} {
		ctx, err := newProgram().Parse(args[1:])
		if err != nil || args[0] != "/weir" || ctx.Command() != want {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// The program of the image is built as make build does it, from files that the build is given.
func TestContainerFileBuilds(t *testing.T) {
	t.Parallel()
	ignored, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	all := stages(t)
	built := false
	for _, stage := range all[:len(all)-1] {
		for _, i := range stage {
			if i.name == "RUN" && strings.Contains(i.rest, "go build") {
				t.Errorf("RUN %s has flags of its own; the Makefile has them", i.rest)
			}
			if target, found := strings.CutPrefix(i.rest, "make "); i.name == "RUN" && found {
				target, _, _ = strings.Cut(target, " ")
				built = strings.Contains(string(makefile), "\n"+target+":") && strings.Contains(i.rest, `VERSION="$VERSION" PROGRAM=/weir `)
			}
			if i.name != "COPY" || strings.HasPrefix(i.rest, "--from=") {
				continue
			}
			sources := strings.Fields(i.rest)
			for _, source := range sources[:len(sources)-1] {
				if _, err := os.Stat("../../" + source); err != nil && !strings.Contains(source, "*") {
					t.Errorf("COPY %s: %v", i.rest, err)
				}
				if slices.Contains(strings.Fields(string(ignored)), source) {
					t.Errorf("COPY %s: .dockerignore leaves it out", i.rest)
				}
			}
		}
	}
	if !built {
		t.Error("no stage builds the program with make, its version and its place")
	}
}

// composition is what of compose's language the file uses. Other members are errors.
type composition struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		Environment map[string]string
		EnvFile     []struct {
			Path     string
			Required bool
		} `yaml:"env_file"`
		Ports       []string
		Volumes     []string
		Tmpfs       []string
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		SecurityOpt []string `yaml:"security_opt"`
		StopGrace   string   `yaml:"stop_grace_period"`
		Restart     string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
		Healthcheck struct {
			Test     []string
			Interval string
			Retries  int
		}
	}
	Volumes map[string]struct{}
}

// The composition starts the image as hardened as its node bears, on a database that is ready, and publishes what clients need alone.
func TestComposeFile(t *testing.T) {
	f, err := os.Open(packaging + "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var c composition
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	i := image(t)
	w, db := c.Services["weir"], c.Services["database"]
	if _, err := os.Stat(path.Join(packaging, w.Build.Context, w.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	const password = "p@ss/w#rd ?:%41"
	env := map[string]string{}
	for name, value := range w.Environment {
		if _, preset, found := strings.Cut(value, ":-"); found {
			value = strings.TrimSuffix(preset, "}")
		}
		env[name] = strings.ReplaceAll(value, "${WEIR_DATABASE_PASSWORD}", password)
	}
	cfg := configured(t, env)
	if cfg.Pricing.RateSource == "static" {
		t.Error("rubles are charged at a rate that is not of today")
	}
	t.Setenv("PGPASSWORD", env["PGPASSWORD"])
	parsed, err := pgx.ParseConfig(cfg.Store.DSN.Reveal())
	if err != nil || parsed.Password != password || parsed.User != db.Environment["POSTGRES_USER"] || parsed.Database != db.Environment["POSTGRES_DB"] || parsed.Host != "database" {
		t.Errorf("it connects as %+v: %v", parsed, err)
	}
	if len(w.EnvFile) != 1 || w.EnvFile[0].Required {
		t.Fatalf("keys come from %+v", w.EnvFile)
	}
	example, err := os.ReadFile(packaging + w.EnvFile[0].Path + ".example")
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile("../../.gitignore")
	if err != nil || !strings.Contains(string(ignored), "\n/packaging/"+w.EnvFile[0].Path+"\n") {
		t.Errorf("git does not ignore the keys: %v", err)
	}
	known, err := os.ReadFile("../../internal/catalog/builtin/providers.json")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(example)) {
		name, found := strings.CutSuffix(line, "=\n")
		if found && name != "WEIR_MASTER_KEY" && !strings.Contains(string(known), `"`+name+`"`) && !strings.Contains(string(known), "${"+name+"}") {
			t.Errorf("no provider has the variable %s", name)
		}
	}
	for _, p := range builtin.Providers() {
		for _, name := range append(builtin.Variables(p.BaseURL), p.Keys[:min(1, len(p.Keys))]...) {
			if !strings.Contains(string(example), "\n"+name+"=\n") {
				t.Errorf("the example lacks %s of %s", name, p.ID)
			}
		}
	}
	if port := port(t, cfg.Server.Listen); !slices.Equal(w.Ports, []string{"127.0.0.1:" + port + ":" + port}) || db.Ports != nil {
		t.Errorf("ports %q and %q are published", w.Ports, db.Ports)
	}
	if !w.ReadOnly || !slices.Equal(w.CapDrop, []string{"ALL"}) || !slices.Equal(w.SecurityOpt, []string{"no-new-privileges:true"}) {
		t.Errorf("not hardened: %+v", w)
	}
	uid, gid, _ := strings.Cut(one(t, i, "USER"), ":")
	if !slices.Equal(w.Tmpfs, []string{"/tmp:uid=" + uid + ",gid=" + gid + ",mode=0700"}) {
		t.Errorf("tmpfs %q", w.Tmpfs)
	}
	for _, v := range slices.Concat(w.Volumes, db.Volumes) {
		name, _, _ := strings.Cut(v, ":")
		if _, ok := c.Volumes[name]; !ok {
			t.Errorf("volume %s is not declared", v)
		}
	}
	if !slices.Contains(w.Volumes, "data:"+cfg.DataDir) {
		t.Errorf("the data directory, %s, is no volume", cfg.DataDir)
	}
	if grace, err := time.ParseDuration(w.StopGrace); err != nil || grace <= cfg.Server.ShutdownDelay+cfg.Server.DrainTimeout {
		t.Errorf("it has %s to end, and takes %s: %v", w.StopGrace, cfg.Server.ShutdownDelay+cfg.Server.DrainTimeout, err)
	}
	if w.DependsOn["database"].Condition != "service_healthy" || len(db.Healthcheck.Test) == 0 {
		t.Error("it does not wait for the database")
	}
}
