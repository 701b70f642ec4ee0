// The examples' cart-pole moves as Gymnasium's CartPole-v1; the expected states are Gymnasium 1.4.0's.
#include "examples/cartpole/cart_pole.h"

#include "tests/catch.h"

TEST_CASE("a cart-pole moves, falls and ends as Gymnasium's") {
  CartPole cart{.state = {0.01, -0.02, 0.03, -0.04}};
  const auto stands_at = [&](std::array<double, 4> expected) {
    for (size_t i = 0; i < 4; ++i) CHECK(cart.state[i] == Approx(expected[i]).epsilon(1e-12));
  };
  for (int64_t n = 0; !cart.has_fallen(); ++n) {
    cart.push(n * 7 % 5 < 2);
    if (cart.steps == 1) stands_at({0.009600000000000001, 0.17467919574755525, 0.0292, -0.3230687179600081});
    if (cart.steps == 10)
      stands_at({-0.013869617099550199, -0.4147475255069627, 0.05917395907869652, 0.6456406223657838});
  }
  CHECK(cart.steps == 19);
  stands_at({-0.10498927498743474, -0.6234890338103241, 0.21877883791155894, 1.2647697021533708});
  CartPole outside{.state = {2.39, 0.6, 0, 0}};
  CHECK_FALSE(outside.has_fallen());
  outside.push(true);
  CHECK(outside.has_fallen());
}

TEST_CASE("carts are pushed together, begin anew, and go on from their state") {
  CartPoles carts(3, 1), others(3, 2);
  CHECK((carts.observations().sizes() == torch::IntArrayRef{3, 4}));
  CHECK_FALSE(torch::equal(carts.observations(), others.observations()));
  const auto right = torch::tensor({true, false, true});
  int64_t falls = 0;
  for (int i = 0; i < 30; ++i) {
    const CartPoles::Outcome outcome = carts.step(right);
    falls += outcome.terminated.sum().item<int64_t>();
    const auto changed = (carts.observations() != outcome.observation).any(1);
    CHECK(torch::equal(changed, outcome.terminated));
  }
  CHECK(falls >= 6);
  CartPoles resumed(3, 1);
  resumed.load_state_dict(carts.state_dict());
  for (int i = 0; i < 30; ++i) CHECK(torch::equal(carts.step(right).observation, resumed.step(right).observation));
}

TEST_CASE("an episode is out of time after 500 steps") {
  // A policy that balances: it pushes to the side that the pole leans and turns to.
  const auto balance = [](const torch::Tensor& seen) {
    return (seen.select(1, 2) + seen.select(1, 3) + 0.1 * seen.select(1, 0) + 0.3 * seen.select(1, 1)) > 0;
  };
  CHECK(mean_return(balance, 3) == 500);
  CartPoles carts(2, 5);
  for (int i = 1; i <= 500; ++i) {
    const CartPoles::Outcome outcome = carts.step(balance(carts.observations()));
    CHECK(outcome.truncated.all().item<bool>() == (i == 500));
  }
}
