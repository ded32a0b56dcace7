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
      {:bandit, "== 1.11.1"},
      {:plug, "== 1.19.1"}
    ]
  end
end
