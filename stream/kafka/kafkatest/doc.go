// Package kafkatest gives tests a Kafka broker: Fake, inside the process, in which failures can be injected, and Real,
// an Apache Kafka started from the jars of Maven Central. Each runs a test on both. Bubble runs one on the fake broker
// in fake time, and BubbleAndReal on the real one too.
//
// The fake completes transactions at once, ignores LogAppendTime (except in a Bubble) and accepts requests that a new
// broker refuses. So a test has a real half if what it proves depends on Kafka: on transactions, on topics that are
// deleted, recreated or grow, on retention, groups or the broker's clock. What depends on the service alone runs in
// fake time only.
//
// A real broker needs java (17 or later) and mvn. Where they are missing the test is skipped, unless the environment
// says CI=true: then it fails. The jars are fetched once, to louver-test in the user's cache directory. The first
// broker starts and stops once, and leaves files there that make later ones start faster. LOUVER_TEST_KAFKA_VERSION
// chooses the version.
package kafkatest
