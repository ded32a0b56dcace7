defmodule Hello.MixProject do
  use Mix.Project

  def project do
    [app: :hello, version: "1.0.0", deps: deps()]
  end

  def application do
    [mod: {Hello, []}]
  end

  defp deps do
    [
      {:cowboy, "== 2.16.1"},
      {:cowlib, "== 2.17.1"},
      {:ranch, "== 2.2.0"}
    ]
  end
end
