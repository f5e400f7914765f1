package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nginxConfig configures nginx as a plain reverse proxy, which does not inspect requests.
const nginxConfig = `worker_processes 2;
daemon off;
pid DIR/nginx.pid;
error_log DIR/nginx-error.log warn;
worker_rlimit_nofile 20000;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path DIR/nginx-body;
  proxy_temp_path DIR/nginx-proxy;
  fastcgi_temp_path DIR/nginx-fastcgi;
  uwsgi_temp_path DIR/nginx-uwsgi;
  scgi_temp_path DIR/nginx-scgi;
  client_max_body_size 64m;
  client_body_buffer_size 8m;
  keepalive_requests 1000000000;
  upstream mock {
    server UPSTREAM;
    keepalive 2048;
    keepalive_requests 1000000000;
  }
  server {
    listen LISTEN;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`

// nginx measures nginx, if this machine has it.
func (r *results) nginx(ctx context.Context, s settings, dir string, mock *process) error {
	program, err := exec.LookPath("nginx")
	if err != nil {
		fmt.Fprintln(os.Stderr, "nginx is not installed, so its row is missing; on Debian: apt-get install nginx-light")
		return nil
	}
	address, err := freePort()
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "nginx.conf")
	text := strings.NewReplacer("DIR", dir, "UPSTREAM", mock.address, "LISTEN", address).Replace(nginxConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	server, err := start(ctx, dir, "nginx", address, program, "-c", config, "-p", dir, "-e", filepath.Join(dir, "nginx-error.log"))
	if err != nil {
		return err
	}
	defer server.stop()
	return r.scenarios(ctx, s, target{name: targetNginx, process: server})
}
