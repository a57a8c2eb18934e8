// Stand in for the parts, which the story does not use, of two libraries that Debian lacks.
using System;
using System.Threading.Tasks;

namespace Polly
{
    public interface ISyncPolicy<T> { }

    public interface IAsyncPolicy<T>
    {
        Task<PolicyResult<T>> ExecuteAndCaptureAsync(Func<Task<T>> action);
    }

    public enum OutcomeType { Successful }

    public class PolicyResult<T>
    {
        public OutcomeType Outcome { get; set; }
        public T Result { get; set; }
        public Exception FinalException { get; set; }
    }
}

namespace JsonSubTypes { }
