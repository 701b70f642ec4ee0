# A network learns the fuel consumption of cars: Rscript r_host.R LEVIN_R.so [STEPS]. levin_r.c says how it is built.
arguments <- commandArgs(trailingOnly = TRUE)
dyn.load(arguments[1])
steps <- if (length(arguments) > 1) as.integer(arguments[2]) else 400
set.seed(1)

config <- '{"seed": 1, "trainer": {"accelerator": "cpu", "max_epochs": -1},
  "model": {"class": "MLPRegressor", "features": 4, "hidden": [32], "optimizer": {"class": "Adam", "lr": 0.01}}}'
session <- .Call("levin_r_start", config)
input <- scale(as.matrix(mtcars[, c("cyl", "disp", "hp", "wt")]))
target <- scale(as.matrix(mtcars[, "mpg", drop = FALSE]))
for (step in seq_len(steps)) {
  rows <- sample(nrow(input), 16)
  loss <- .Call("levin_r_step", session, input[rows, ], target[rows, , drop = FALSE])
}
predicted <- .Call("levin_r_predict", session, input)
explained <- 1 - sum((predicted - target)^2) / sum(target^2)
cat(sprintf("explained variance: %.3f\n", explained))
wrong <- tryCatch(.Call("levin_r_predict", session, input[, 1:3]), error = conditionMessage)
cat("an error of levin's:", wrong, "\n")
quit(status = if (explained > 0.9) 0 else 1)
