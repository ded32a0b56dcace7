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
      {:cowboy, "== 1.1.2"}
    ]
  end
end
