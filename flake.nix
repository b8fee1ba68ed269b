# SPDX-License-Identifier: GPL-2.0-only
# nix run . -- run quick --on sim; nix develop: a shell to build it in.
{
  description = "Linux CPU schedulers meet under the same rules";
  inputs.nixpkgs.url = "nixpkgs";

  outputs = { self, nixpkgs }:
    let
      system = "x86_64-linux";
      pkgs = nixpkgs.legacyPackages.${system};
      clang = "${pkgs.llvmPackages.clang-unwrapped}/bin/clang";
      fairground = pkgs.rustPlatform.buildRustPackage {
        pname = "fairground";
        version = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        cargoBuildFlags = [ "--package" "fairground" ];
        # They need root, a browser and virtual machines.
        doCheck = false;
        nativeBuildInputs = [ pkgs.pkg-config pkgs.makeWrapper pkgs.installShellFiles ];
        buildInputs = [ pkgs.elfutils pkgs.zlib ];
        BPF_CLANG = clang;
        postInstall = ''
          mkdir manual
          $out/bin/fairground doctor manual --output manual
          installManPage manual/*
          for shell in bash fish zsh; do
            $out/bin/fairground doctor completions $shell >fairground.$shell
          done
          installShellCompletion fairground.bash fairground.fish --zsh fairground.zsh
          wrapProgram $out/bin/fairground --set-default BPF_CLANG ${clang} \
            --suffix PATH : ${pkgs.lib.makeBinPath [ pkgs.qemu ]}
        '';
        meta = {
          description = "Linux CPU schedulers meet under the same rules";
          license = pkgs.lib.licenses.gpl2Only;
          mainProgram = "fairground";
          platforms = [ system ];
        };
      };
    in
    {
      packages.${system}.default = fairground;
      devShells.${system}.default = pkgs.mkShell {
        inputsFrom = [ fairground ];
        packages = [ pkgs.clippy pkgs.rustfmt pkgs.qemu ];
        BPF_CLANG = clang;
      };
    };
}
