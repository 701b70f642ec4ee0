/* levin for R by .Call: matrices of doubles go to levin where they lie, columns as they are. Build:
 *
 *   PKG_CPPFLAGS="$(pkg-config --cflags levin_c)" PKG_LIBS="$(pkg-config --libs levin_c)" R CMD SHLIB levin_r.c */
#include <R.h>
#include <Rinternals.h>
#include <levin/c_api.h>

static void check(levin_status status) {
  if (status != LEVIN_OK) error("%s", levin_error());
}

/* An R matrix [samples, columns]: the first dimension is the fastest. `shape` has room for shape and strides. */
static levin_array array_of(SEXP matrix, int64_t* shape) {
  levin_array array = LEVIN_INIT(levin_array);
  if (!isReal(matrix) || !isMatrix(matrix)) error("expected a matrix of doubles");
  shape[0] = nrows(matrix);
  shape[1] = ncols(matrix);
  shape[2] = 1;
  shape[3] = nrows(matrix);
  array.data = REAL(matrix);
  array.dtype = LEVIN_FLOAT64;
  array.rank = 2;
  array.shape = shape;
  array.strides = shape + 2;
  return array;
}

static void end(SEXP handle) {
  levin_session_destroy((levin_session*)R_ExternalPtrAddr(handle));
  R_ClearExternalPtr(handle);
}

/* Starts a session of a config, JSON; R's garbage collector ends it. */
SEXP levin_r_start(SEXP config_text) {
  levin_config config = LEVIN_INIT(levin_config);
  levin_session_options options = LEVIN_INIT(levin_session_options);
  levin_session* session = NULL;
  config.text = CHAR(asChar(config_text));
  options.config = &config;
  check(levin_session_start(&options, &session));
  SEXP handle = PROTECT(R_MakeExternalPtr(session, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(handle, end, TRUE);
  UNPROTECT(1);
  return handle;
}

/* Trains one batch, matrices [samples, inputs] and [samples, outputs]; returns its loss. */
SEXP levin_r_step(SEXP handle, SEXP input, SEXP target) {
  int64_t of_input[4], of_target[4];
  double loss = 0;
  const levin_array arrays[] = {array_of(input, of_input), array_of(target, of_target)};
  levin_session* session = (levin_session*)R_ExternalPtrAddr(handle);
  check(levin_session_step(session, arrays, 2, NULL));
  check(levin_session_loss(session, &loss));
  return ScalarReal(loss);
}

/* Returns what the model makes of a matrix [samples, inputs]: a matrix [samples, outputs]. */
SEXP levin_r_predict(SEXP handle, SEXP input) {
  int64_t of_input[4], of_result[4];
  const levin_array array = array_of(input, of_input);
  levin_array result = LEVIN_INIT(levin_array);
  levin_model* model = NULL;
  check(levin_session_model((levin_session*)R_ExternalPtrAddr(handle), &model));
  levin_status status = levin_model_run(model, NULL, &array, 1);
  if (status == LEVIN_OK) status = levin_model_result(model, 0, &result);
  SEXP matrix = R_NilValue;
  if (status == LEVIN_OK && result.rank == 2) {
    matrix = PROTECT(allocMatrix(REALSXP, (int)result.shape[0], (int)result.shape[1]));
    const levin_array to = array_of(matrix, of_result);
    status = levin_array_copy(&result, &to);
    UNPROTECT(1);
  }
  levin_model_destroy(model);
  check(status);
  return matrix;
}
