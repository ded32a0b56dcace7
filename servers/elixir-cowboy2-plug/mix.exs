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
      {:plug, "== 1.7.2"},
      {:plug_cowboy, "== 2.0.2"},
      {:cowboy, "== 2.6.3"}
    ]
  end
end
